"""Miniature pipelines, saved once a session; see tiny.py."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("diffusers", reason="needs the extra `diffusers`")

import torch

from contextbias.generate.diffusers import DiffusersGenerator
from contextbias.generate.diffusers.loading import quiet
from contextbias.generate.protocol import Job

SMALL = {"size": 64, "steps": 2, "dtype": "float32", "style": ""}
"""Options with which every miniature draws in hundredths of a second."""

PROFILES = {
    "sdxl": "sdxl",
    "sd3": "sd3.5-medium",
    "flux": "flux-dev",
    "schnell": "flux-schnell",
    "qwen": "qwen-image",
    "sd1": "generic",
}
"""Miniature -> the profile whose rules it follows."""

FAMILIES = tuple(
    pytest.param(name, marks=pytest.mark.slow) if name == "schnell" else name for name in PROFILES
)
"""Every miniature; schnell is drawn by the code of dev, and waits for `make test-slow`."""


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
    # A scheduler of diffusers 0.42 and NumPy 2.
    warnings.filterwarnings("ignore", "__array__ implementation doesn't accept a copy keyword")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Name of a miniature -> the folder where it is saved."""
    quiet()
    tiny = importlib.import_module("tests.generate.diffusers.tiny")
    root = tmp_path_factory.mktemp("tiny")

    @cache
    def saved(name: str) -> Path:
        if name == "overflowing":
            return Path(tiny.save("sdxl", root / name, overflowing=True))
        return Path(tiny.save(name, root / name))

    return saved


@pytest.fixture(scope="session")
def generator(folder: Callable[[str], Path]) -> Callable[..., DiffusersGenerator]:
    """Name of a miniature and further options -> a generator that draws with it."""

    def built(name: str, **options: Any) -> DiffusersGenerator:
        given = {"model": str(folder(name)), "profile": PROFILES.get(name), **SMALL, **options}
        return DiffusersGenerator({key: v for key, v in given.items() if v is not None})

    return built


@pytest.fixture
def job() -> Callable[..., Job]:
    """A seed and perhaps a text -> a job."""

    def made(seed: int, text: str = "a photo of a nurse") -> Job:
        return Job(
            image_id=f"{text}/{seed}",
            role="nurse",
            condition="CF",
            text=text,
            location=None,
            activity=None,
            prompt_id=text,
            seed=seed,
        )

    return made
