"""ContextBench: roles and contexts in, prompts out."""

from contextbias.bench.bank import Bank
from contextbias.bench.prompts import build_prompts
from contextbias.bench.reading import load_bank

__all__ = ["Bank", "build_prompts", "load_bank"]
