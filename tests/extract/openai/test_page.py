"""The how-to page: every study.toml on it is one that works."""

from __future__ import annotations

import re

import pytest
from tests.conftest import CHECKOUT

from contextbias.config import parse_config
from contextbias.extract.openai import OpenAIReader
from contextbias.providers.profiles import STRUCTURED

PAGE = (CHECKOUT / "docs/readers.md").read_text("utf-8")
BLOCKS = [b for b in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if 'backend = "openai"' in b]


@pytest.mark.parametrize("text", BLOCKS)
def test_every_section_of_the_page_is_a_reader(text: str) -> None:
    (section,) = parse_config(text).readers
    reader = OpenAIReader(dict(section.options))
    assert reader.plan(10, (1024, 1024)).calls == 10


def test_every_provider_and_structured_mode_is_there() -> None:
    assert len(BLOCKS) >= 8
    for name in ("OpenAI", "vLLM", "SGLang", "Ollama", "LM Studio", "llama.cpp"):
        assert f"### {name}" in PAGE
    for mode in STRUCTURED:
        assert f'`"{mode}"`' in PAGE
