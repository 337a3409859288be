"""Shares by the inverse of a misclassification matrix: by hand, theory, coverage, refusal."""

from __future__ import annotations

import numpy as np
import pytest

from contextbias.stats.misclassification import (
    Confusion,
    confusion,
    unmix,
    unmixed_contrast,
)


def judged(matrix: list[list[int]]) -> Confusion:
    """Images by reader (rows) and people (columns)."""
    table = np.array(matrix)
    said, true = (np.repeat(axis.ravel(), table.ravel()) for axis in np.indices(table.shape))
    return confusion(said, true, np.ones(len(said)), len(table))


def test_rogan_and_gladen_by_hand() -> None:
    # Sensitivity 45/50 = .9, specificity 40/50 = .8. 50% seen: (.5 + .8 - 1) / (.9 + .8 - 1) = 3/7.
    found = unmix([500, 500], judged([[45, 10], [5, 40]]))
    assert found is not None
    assert found.point[0] == pytest.approx(3 / 7)
    assert found.point.sum() == pytest.approx(1)


def test_rogan_and_gladens_variance() -> None:
    # With columns as they are: [q (1 - q) / N + p² Se (1 - Se) / n1 + (1 - p)² Sp (1 - Sp) / n0]
    # / (Se + Sp - 1)². One image more in each column, spread evenly, changes little at n = 5000.
    found = unmix([500, 500], judged([[4500, 1000], [500, 4000]]))
    assert found is not None
    p = 3 / 7
    variance = 0.25 / 1000 + p**2 * 0.09 / 5000 + (1 - p) ** 2 * 0.16 / 5000
    half = 1.959964 * np.sqrt(variance) / 0.7
    assert found.high[0] - found.raw[0] == pytest.approx(half, rel=1e-3)


def test_the_true_shares_come_back() -> None:
    matrix = judged([[80, 10, 5], [15, 80, 15], [5, 10, 80]])
    true = np.array([0.6, 0.3, 0.1])
    found = unmix(1e6 * matrix.matrix @ true, matrix)
    assert found is not None
    assert found.point == pytest.approx(true)


def test_weights_count() -> None:
    found = confusion([0, 1, 1], [0, 0, 1], [3, 1, 2], 2)
    assert found.matrix == pytest.approx(np.array([[0.75, 0], [0.25, 1]]))
    assert found.n == pytest.approx([16 / 10, 1])


def test_shares_stay_within_0_and_1() -> None:
    # The reader sees 5% where it would see 20% if there were none.
    found = unmix([50, 950], judged([[45, 10], [5, 40]]))
    assert found is not None
    assert found.raw[0] < 0
    assert found.point[0] == 0
    assert found.low[0] == 0


def test_a_reader_without_an_error_is_not_taken_for_perfect() -> None:
    few, many = (unmix([5000, 5000], judged([[n, 0], [0, n]])) for n in (10, 1000))
    assert few is not None
    assert many is not None
    assert few.point[0] == many.point[0] == pytest.approx(0.5)
    assert few.high[0] - few.low[0] > 3 * (many.high[0] - many.low[0])


def test_a_reader_that_guesses_has_no_inverse() -> None:
    assert unmix([60, 40], judged([[25, 25], [25, 25]])) is None
    assert unmix([0, 0], judged([[45, 10], [5, 40]])) is None


def test_a_contrast_of_equal_shares_has_no_error_from_the_matrix() -> None:
    matrix = judged([[45, 10], [5, 40]])
    one = unmix([500, 500], matrix)
    assert one is not None
    point, low, high = unmixed_contrast(one, one, matrix)
    assert point == pytest.approx([0, 0])
    half = 1.959964 * np.sqrt(2 * 0.25 / 1000) / 0.7
    assert high[0] == pytest.approx(half, rel=1e-6)
    assert low[0] == pytest.approx(-half, rel=1e-6)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="weight"):
        confusion([0, 1], [0], [1, 1], 2)
    with pytest.raises(ValueError, match="must lie in"):
        confusion([0, 2], [0, 1], [1, 1], 2)
    with pytest.raises(ValueError, match="class 1 to no image"):
        confusion([0, 1], [0, 0], [1, 1], 2)


def test_coverage_where_errors_are_alike_everywhere() -> None:
    rng = np.random.default_rng(3)
    matrix = np.array([[0.8, 0.1, 0.05], [0.15, 0.8, 0.15], [0.05, 0.1, 0.8]])
    shares = np.array([0.6, 0.3, 0.1])
    held = np.zeros(3)
    studies = 400
    for _ in range(studies):
        true = rng.choice(3, 900, p=shares)
        said = np.array([rng.choice(3, p=matrix[:, k]) for k in true])
        some = rng.choice(900, 250, replace=False)
        found = unmix(
            np.bincount(said, minlength=3), confusion(said[some], true[some], np.ones(250), 3)
        )
        assert found is not None
        held += (found.low <= shares) & (shares <= found.high)
    assert np.all(held / studies >= 0.92)
