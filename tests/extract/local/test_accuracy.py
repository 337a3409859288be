"""The acceptance bounds of the local reader, on the pictures of ../shared that were judged by eye.

Colour temperature, depth of field and the sharpness and colour of the gate were set on these
pictures: docs/local-reader.md says what the figures are worth.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = [pytest.mark.weights, pytest.mark.shared]


@pytest.fixture(scope="module")
def accuracy() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "perf" / "local_accuracy.py"
    spec = importlib.util.spec_from_file_location("local_accuracy", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["local_accuracy"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_scenes(accuracy: ModuleType, shared: Path) -> None:
    folder = shared / "images"
    scores = accuracy.score_scenes(folder, accuracy.read_folder(folder))
    assert scores["frontal faces"].judged == 70
    assert scores["frontal faces"].coverage >= 0.75
    assert scores["frontal faces"].accuracy >= 0.95
    assert scores["primary person"].judged >= 15
    assert scores["primary person"].accuracy == 1
    assert scores["depth of field"].right / scores["depth of field"].judged >= 0.85


def test_portraits_of_another_generator(accuracy: ModuleType, shared: Path) -> None:
    folder = shared / "images" / "portraits"
    readings = accuracy.read_folder(folder)
    scores = accuracy.score_portraits(folder, readings)
    assert scores["photographs"].accuracy >= 0.95
    assert scores["photographs"].coverage >= 0.6
    assert scores["drawn or nobody"].answered == 0
    # The probes were trained on the scenes only.
    judged = accuracy.score_judged(readings)
    for name in ("eyewear_present sd3", "facial_hair_present sd3"):
        assert judged[name].accuracy >= 0.95
        assert judged[name].answered >= 25
