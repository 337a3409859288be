"""Banks that differ from the shipped one in a single place."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from contextbias.bench import Bank, load_bank

TEXT = files("contextbias.bench").joinpath("data", "contextbench.toml").read_text("utf-8")


@pytest.fixture(scope="session")
def bank() -> Bank:
    return load_bank()


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Write the shipped bank with every ``old`` replaced by its ``new``."""

    def write(*pairs: tuple[str, str]) -> Path:
        text = TEXT
        for old, new in pairs:
            assert old in text, f"the shipped bank has no {old!r} any more"
            text = text.replace(old, new)
        path = tmp_path / "mine.toml"
        path.write_text(text, "utf-8")
        return path

    return write
