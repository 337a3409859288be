"""Measure: attributes in, estimates out. Fast, pure, and run again at will."""

from contextbias.measure.stage import measure

__all__ = ["measure"]
