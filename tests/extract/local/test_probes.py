import base64
import json
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

from contextbias.extract.local.faces import Face
from contextbias.extract.local.probes import (
    FIELDS,
    PARTS,
    Part,
    Probe,
    cut_part,
    features,
    probes,
)


def test_probability_by_hand() -> None:
    probe = Probe(np.array([2.0, -1.0]), intercept=0.5, slope=2.0, shift=-1.0, confidence=0.6)
    # Score 2 * 1 - 1 * 1.5 + 0.5 = 1; 2 * 1 - 1 = 1; 1 / (1 + exp(-1)).
    assert probe.probability(np.array([1.0, 1.5])) == pytest.approx(0.7310586)
    assert probe.probability(np.array([1e9, 0.0])) == pytest.approx(1)
    assert probe.probability(np.array([-1e9, 0.0])) == pytest.approx(0)


def test_features_are_means_of_fields_row_by_row() -> None:
    # A map of 2 channels on 5 x 5 cells: each field is one cell.
    values = np.arange(50, dtype=np.float32).reshape(1, 2, FIELDS, FIELDS)

    def look(batch: NDArray[np.float32]) -> NDArray[np.float32]:
        assert batch.shape == (1, 3, 80, 80)
        return values

    found = features(np.zeros((80, 80, 3), dtype=np.uint8), look)
    assert found.shape == (2 * FIELDS**2,)
    assert found[:4].tolist() == [0, 25, 1, 26]  # both channels of the first field, then the next


def test_an_uneven_map_is_covered_once() -> None:
    values = np.ones((1, 1, 14, 14), dtype=np.float32)
    found = features(np.zeros((224, 224, 3), dtype=np.uint8), lambda _: values)
    assert found.tolist() == [1.0] * FIELDS**2


def test_a_part_is_cut_where_the_landmarks_are() -> None:
    # Eyes 20 apart at (40, 50) and (60, 50); a part of 2 eye distances around their middle, 80
    # pixels wide: 2 pixels of the cut for one of the picture, and the middle at (50, 50).
    marks = np.array([[40, 50], [60, 50], [50, 62.4], [42, 71.6], [58, 71.6]])
    rgb = np.zeros((100, 100, 3), dtype=np.uint8)
    rgb[48:53, 48:53] = 255
    cut = cut_part(rgb, Face((30, 30, 70, 80), marks, 0.9), Part(middle=0, width=2, side=80))
    rows, columns = np.nonzero(cut[..., 0] > 128)
    assert rows.mean() == pytest.approx(40, abs=1)
    assert columns.mean() == pytest.approx(40, abs=1)
    assert len(rows) == pytest.approx(100, abs=25)


def test_the_packaged_probes_are_whole() -> None:
    table = json.loads(files("contextbias.extract.local").joinpath("probes.json").read_text())
    assert set(table["about"]) >= {"made by", "trained on", "judged by", "format"}
    assert set(probes()) == set(PARTS)
    for name, probe in probes().items():
        assert probe.weights.shape == (112 * FIELDS**2,)
        assert np.isfinite(probe.weights).all()
        assert probe.slope > 0
        assert 0.5 <= probe.confidence < 1
        assert len(base64.b64decode(table["probes"][name]["weights"])) == 4 * len(probe.weights)
    for part in PARTS.values():
        assert part.side % 16 == 0
