"""The report: one page that needs no network, and its tables. Prints numbers, computes none."""

from contextbias.report.html import render
from contextbias.report.inputs import ReportInputs, RunFacts
from contextbias.report.stage import inputs_of

__all__ = ["ReportInputs", "RunFacts", "inputs_of", "render"]
