import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contextbias.extract.local.chips import as_batch, cut_chip, fit_similarity, measure
from contextbias.extract.local.faces import Face

SKIN = (200, 150, 120)
# Eyes 40 apart at y = 50, nose between and below, mouth corners, in a box 100 wide and 110 high.
LANDMARKS = np.array([[80, 50], [120, 50], [100, 81], [85, 100], [115, 100]], dtype=np.float64)
FACE = Face((50.0, 20.0, 150.0, 130.0), LANDMARKS, 0.9)


def _picture() -> NDArray[np.uint8]:
    return np.full((200, 200, 3), SKIN, dtype=np.uint8)


@given(
    st.floats(-np.pi, np.pi),
    st.floats(0.1, 10),
    st.floats(-50, 50),
    st.floats(-50, 50),
    st.integers(2, 6),
)
def test_similarity_is_recovered(angle: float, scale: float, x: float, y: float, n: int) -> None:
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = np.random.default_rng(n).normal(0, 10, (n, 2))
    found = fit_similarity(points, points @ turn.T + [x, y])
    np.testing.assert_allclose(found, np.column_stack([turn, [x, y]]), atol=1e-7)


def test_a_mirror_image_is_not_fitted() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert np.linalg.det(fit_similarity(points, points * [-1, 1])[:, :2]) >= 0


def test_chip_is_upright_with_the_eyes_in_their_place() -> None:
    # The mean face's eyes lie at (0.2273, 0.2214) and (0.7528, 0.2212); with a margin of 0.2 of
    # 1.4 sides and 256 pixels that is x 78.1 and 174.2, y 77.1.
    picture = _picture()
    for x, y in LANDMARKS[:2].astype(int):
        cv2.circle(picture, (int(x), int(y)), 3, (0, 0, 255), -1)
    turned = cv2.warpAffine(
        picture, cv2.getRotationMatrix2D((100, 100), 30, 1), (200, 200), borderValue=SKIN
    )
    angle = np.radians(-30)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    marks = (LANDMARKS - 100) @ turn.T + 100
    for image, landmarks in ((picture, LANDMARKS), (turned, marks)):
        chip = cut_chip(np.asarray(image, dtype=np.uint8), Face(FACE.box, landmarks, 0.9))
        blue = np.argwhere(chip[..., 0] < 100)
        left, right = blue[blue[:, 1] < 128].mean(axis=0), blue[blue[:, 1] >= 128].mean(axis=0)
        assert left.tolist() == pytest.approx([77, 78], abs=4)
        assert right.tolist() == pytest.approx([77, 174], abs=4)


def test_batch_is_the_chip_and_its_mirror_image() -> None:
    chip = np.random.default_rng(1).integers(0, 256, (256, 256, 3), dtype=np.uint8)
    batch = as_batch(chip, 32)
    assert batch.shape == (2, 3, 32, 32)
    assert batch.dtype == np.float32
    np.testing.assert_array_equal(batch[1], batch[0][:, :, ::-1])


def test_batch_is_centred_on_the_means_of_training() -> None:
    chip = np.full((256, 256, 3), (255, 117, 0), dtype=np.uint8)
    # (255 - 122.782) / 256 = 0.51648; (117 - 117.001) / 256 = 0; (0 - 104.298) / 256 = -0.40741.
    np.testing.assert_allclose(as_batch(chip, 8)[0, :, 0, 0], [0.51648, 0, -0.40741], atol=1e-4)


def test_measures_of_a_plain_face() -> None:
    picture = _picture()
    seen = measure(picture, FACE, cut_chip(picture, FACE), white=1)
    assert seen.size == 110
    assert seen.eye_ratio == pytest.approx(0.4)
    assert seen.nose_offset == 0
    assert seen.sharpness == 0
    assert seen.flatness == 1
    # sRGB (200, 150, 120) is L* 66.2, a* 14.9, b* 23.5: hue 58, chroma 28, and the typology angle
    # is atan2(16.2, 23.5) = 34.6 degrees.
    assert seen.cheek == pytest.approx((66.2, 14.9, 23.5), abs=0.5)
    assert seen.cheek_hue == pytest.approx(57.6, abs=1)
    assert seen.ita == pytest.approx(34.6, abs=1)
    assert seen.skin_lightness == pytest.approx(66.2, abs=0.5)


def test_skin_lightness_is_relative_to_the_white_of_the_picture() -> None:
    # L* 66.2 is luminance 0.356; against a white of 0.5 that is 0.712, and L* 87.6.
    picture = _picture()
    seen = measure(picture, FACE, cut_chip(picture, FACE), white=0.5)
    assert seen.skin_lightness == pytest.approx(87.6, abs=0.5)


def test_nose_offset_of_a_turned_head() -> None:
    marks = LANDMARKS.copy()
    marks[2, 0] = 120  # under the right eye: half the distance of the eyes from the middle
    seen = measure(_picture(), Face(FACE.box, marks, 0.9), cut_chip(_picture(), FACE), white=1)
    assert seen.nose_offset == pytest.approx(0.5)


def test_landmarks_outside_the_picture_are_no_error() -> None:
    face = Face((150.0, 150.0, 200.0, 200.0), LANDMARKS + 130, 0.7)
    assert measure(_picture(), face, cut_chip(_picture(), face), white=1).size == 50
