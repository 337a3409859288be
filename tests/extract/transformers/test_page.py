"""The section of the how-to page: its study.toml is one that works, and its options exist."""

from __future__ import annotations

import re

from tests.conftest import CHECKOUT

from contextbias.config import parse_config
from contextbias.extract.transformers import TransformersReader
from contextbias.extract.transformers.options import TransformersReaderOptions

PAGE = (CHECKOUT / "docs/readers.md").read_text("utf-8")


def test_the_section_of_the_page_is_a_reader() -> None:
    blocks = [b for b in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "transformers" in b]
    assert blocks
    for text in blocks:
        (section,) = parse_config(text).readers
        assert section.backend == "transformers"
        assert TransformersReader(dict(section.options)).plan(10, None).size


def test_options_that_it_names_exist() -> None:
    section = PAGE.split("## A local model")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)(?: = [^`]+)?`", section))
    known = set(TransformersReaderOptions.model_fields)
    others = {"transformers", "openai", "truncated", "invalid", "error", "float16", "HF_TOKEN"}
    assert named - others - {"AutoModelForImageTextToText"} <= known
    assert {"model", "revision", "temperature", "batch", "dtype", "max_tokens"} <= named
