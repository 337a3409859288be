"""A miniature model, saved once a session; see tiny.py."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("transformers", reason="needs the extra `transformers`")
pytest.importorskip("llguidance", reason="needs the extra `transformers`")

import torch

from contextbias.extract.protocol import Picture
from contextbias.extract.transformers import TransformersReader
from contextbias.extract.transformers.loading import quiet

SMALL = {"dtype": "float32", "size": 64, "people": 1, "max_tokens": 1500}
"""Options with which the miniature answers in tenths of a second."""


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def save() -> Callable[..., Path]:
    """Saves a miniature; see `tiny.save`."""
    quiet()
    saved: Callable[..., Path] = importlib.import_module("tests.extract.transformers.tiny").save
    return saved


@pytest.fixture(scope="session")
def folder(save: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the miniature is saved."""
    return save(tmp_path_factory.mktemp("tiny") / "llava")


@pytest.fixture
def reader(folder: Path) -> Callable[..., TransformersReader]:
    """Further options -> a reader with the miniature."""

    def built(**options: Any) -> TransformersReader:
        return TransformersReader({"model": str(folder), **SMALL, **options})

    return built


@pytest.fixture
def pictures(tmp_path: Path) -> Callable[[int], list[Picture]]:
    """How many -> different pictures of a few colours."""

    def made(count: int) -> list[Picture]:
        drawn = np.random.default_rng(0)
        found = []
        for number in range(count):
            path = tmp_path / f"nurse-{number}.png"
            colours = drawn.integers(0, 255, (3, 3, 3), dtype=np.uint8)
            Image.fromarray(colours).resize((64, 48), 0).save(path)
            found.append(Picture(image_id=f"image-{number}", path=path))
        return found

    return made
