"""A small study of the simulated generator, made once and copied for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.annotate.made import TEXT

from contextbias.pipeline import Options, run
from contextbias.store import Study


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study with its images; nobody is invited yet."""
    folder = tmp_path_factory.mktemp("drawn") / "study"
    with Study.create(folder, TEXT) as study:
        run(study, ("bench", "generate"), Options())
    return folder


@pytest.fixture
def folder(drawn: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    copy = tmp_path / "study"
    shutil.copytree(drawn, copy)
    return copy
