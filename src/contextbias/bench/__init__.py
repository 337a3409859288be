"""ContextBench: roles and contexts in, prompts out."""

from contextbias.bench.bank import Bank
from contextbias.bench.check import check_bank
from contextbias.bench.fault import Fault
from contextbias.bench.listing import to_csv, to_jsonl
from contextbias.bench.options import BenchOptions
from contextbias.bench.prompts import build_prompts
from contextbias.bench.reading import load_bank

__all__ = [
    "Bank",
    "BenchOptions",
    "Fault",
    "build_prompts",
    "check_bank",
    "load_bank",
    "to_csv",
    "to_jsonl",
]
