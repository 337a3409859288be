"""What the report's tests share: a small made-up study (see made_study.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.made_study import MakeStudy, StudyMaker


@pytest.fixture
def make_study(tmp_path: Path) -> MakeStudy:
    """A maker of small studies in a folder of the test."""

    def make(**changes: Any) -> StudyMaker:
        return StudyMaker(tmp_path, **changes)

    return make
