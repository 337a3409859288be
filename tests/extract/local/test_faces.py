import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contextbias.extract.local.faces import Face, find_faces, merge, overlap

Maps = list[NDArray[np.float32]]


def _maps(rows: int, columns: int) -> Maps:
    return [np.zeros((1, channels, rows, columns), dtype=np.float32) for channels in (1, 2, 2, 10)]


def _plant(maps: Maps, row: int, column: int, score: float, height: float, width: float) -> None:
    """A face whose centre is the middle of a cell; landmarks in the middle of the box."""
    heat, size, _, marks = maps
    heat[0, 0, row, column] = score
    size[0, :, row, column] = np.log([height / 4, width / 4])
    marks[0, :, row, column] = 0.5


def test_boxes_in_pixels_of_the_picture() -> None:
    # Picture 96 x 64 searched at 48: scale 1/2, so 48 x 32, rounded up to 64 x 32. The network's
    # grid has 16 x 8 cells of 4 pixels. Cell (row 3, column 7) has its middle at x = 30, y = 14 of
    # the input. A face 8 high and 12 wide there reaches from (24, 10) to (36, 18). Back in the
    # picture x counts 96/64 = 1.5 and y 64/32 = 2: (36, 20) to (54, 36).
    seen = []

    def detector(batch: NDArray[np.float32]) -> Maps:
        seen.append(batch.shape)
        maps = _maps(8, 16)
        _plant(maps, 3, 7, 0.9, height=8, width=12)
        return maps

    (face,) = find_faces(np.zeros((64, 96, 3), dtype=np.uint8), detector, 48)
    assert seen == [(1, 3, 32, 64)]
    assert face.box == pytest.approx((36, 20, 54, 36))
    assert face.score == pytest.approx(0.9)
    np.testing.assert_allclose(face.landmarks, np.tile([45, 28], (5, 1)), rtol=1e-5)


def test_offsets_and_landmarks_are_rows_first() -> None:
    def detector(_: NDArray[np.float32]) -> Maps:
        maps = _maps(8, 8)
        _plant(maps, 2, 5, 0.8, height=8, width=8)
        maps[2][0, :, 2, 5] = (0.25, -0.5)  # a quarter cell down, half a cell to the left
        maps[3][0, :2, 2, 5] = (0.0, 1.0)  # first landmark: the upper right corner of the box
        return maps

    (face,) = find_faces(np.zeros((32, 32, 3), dtype=np.uint8), detector, 32)
    # Centre x = (5 - 0.5 + 0.5) * 4 = 20, y = (2 + 0.25 + 0.5) * 4 = 11; half a side is 4.
    assert face.box == pytest.approx((16, 7, 24, 15))
    assert face.landmarks[0].tolist() == pytest.approx([24, 7])


def test_weak_detections_and_doubles_are_dropped() -> None:
    def detector(_: NDArray[np.float32]) -> Maps:
        maps = _maps(8, 8)
        _plant(maps, 3, 3, 0.7, height=16, width=16)
        _plant(maps, 3, 4, 0.9, height=16, width=16)  # overlaps by 12/20 = 0.6
        _plant(maps, 7, 7, 0.59, height=4, width=4)
        return maps

    (face,) = find_faces(np.zeros((32, 32, 3), dtype=np.uint8), detector, 32)
    assert face.score == pytest.approx(0.9)


def test_boxes_stay_inside_the_picture() -> None:
    def detector(_: NDArray[np.float32]) -> Maps:
        maps = _maps(8, 8)
        _plant(maps, 0, 7, 0.9, height=20, width=20)
        return maps

    (face,) = find_faces(np.zeros((32, 32, 3), dtype=np.uint8), detector, 32)
    assert face.box == pytest.approx((20, 0, 32, 12))


def test_nothing_found() -> None:
    assert find_faces(np.zeros((40, 40, 3), dtype=np.uint8), lambda _: _maps(16, 16), 40) == []
    assert merge([[], []]) == []


def _face(box: tuple[float, float, float, float], score: float) -> Face:
    return Face(box, np.zeros((5, 2)), score)


def test_merging_searches_keeps_the_better_of_two() -> None:
    large, again, other = (
        _face((0, 0, 10, 10), 0.7),
        _face((1, 0, 11, 10), 0.8),
        _face((20, 20, 30, 30), 0.65),
    )
    assert merge([[large, other], [again]]) == [again, other]


_side = st.floats(0, 100)


@given(st.tuples(_side, _side, _side, _side), st.tuples(_side, _side, _side, _side))
def test_overlap_is_symmetric_and_a_share(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> None:
    a, b = (np.array([x, y, x + w, y + h]) for x, y, w, h in (one, other))
    assert 0 <= overlap(a, b) <= 1 + 1e-9
    assert overlap(a, b) == overlap(b, a)
    if (a[2:] - a[:2]).min() > 1e-3:
        assert overlap(a, a) == pytest.approx(1)
