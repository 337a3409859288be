"""Measure: attributes in, estimates out. Fast, pure, and run again at will."""

from contextbias.measure.stage import measure, measure_lazily

__all__ = ["measure", "measure_lazily"]
