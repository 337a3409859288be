"""ContextBench: roles and contexts in, prompts out."""

from contextbias.bench.bank import Bank
from contextbias.bench.check import check_bank
from contextbias.bench.fault import Fault
from contextbias.bench.listed import (
    PromptList,
    is_prompt_list,
    load_prompt_list,
    parse_prompt_list,
)
from contextbias.bench.listing import to_csv, to_jsonl
from contextbias.bench.options import BenchOptions
from contextbias.bench.prompts import build_prompts
from contextbias.bench.reading import load_bank, shipped_banks
from contextbias.bench.summary import distinct_contexts, summarise, summary_text

__all__ = [
    "Bank",
    "BenchOptions",
    "Fault",
    "PromptList",
    "build_prompts",
    "check_bank",
    "distinct_contexts",
    "is_prompt_list",
    "load_bank",
    "load_prompt_list",
    "parse_prompt_list",
    "shipped_banks",
    "summarise",
    "summary_text",
    "to_csv",
    "to_jsonl",
]
