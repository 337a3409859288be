from dataclasses import replace

import pytest

from contextbias.extract.local.chips import Measures
from contextbias.extract.local.gate import faults

# A clear frontal face of ordinary skin colour: a* 18, b* 24 is chroma 30, hue 53 degrees.
GOOD = Measures(
    size=100,
    eye_ratio=0.45,
    nose_offset=0.1,
    sharpness=0.5,
    flatness=0.05,
    cheek=(60.0, 18.0, 24.0),
    ita=20.0,
    skin_lightness=60.0,
)


def test_a_clear_frontal_face_passes() -> None:
    assert faults(GOOD) == ()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"size": 43.9}, "small"),
        ({"eye_ratio": 0.36}, "profile"),
        ({"nose_offset": 0.45}, "profile"),
        ({"sharpness": 0.14}, "blurred"),
        ({"flatness": 0.16}, "flat"),
        ({"cheek": (60.0, 0.0, 0.0)}, "color"),  # a grey picture
        ({"cheek": (70.0, 23.0, -8.0)}, "color"),  # purple light
        ({"cheek": (70.0, -20.0, 20.0)}, "color"),  # green paint
        ({"cheek": (70.0, 33.0, 50.0)}, "color"),  # an orange drawing
    ],
)
def test_each_fault_closes_the_gate(changes: dict[str, object], fault: str) -> None:
    assert faults(replace(GOOD, **changes)) == (fault,)  # type: ignore[arg-type]


def test_the_smallest_face_can_be_chosen() -> None:
    assert faults(replace(GOOD, size=30), smallest=24) == ()
    assert faults(GOOD, smallest=101) == ("small",)


def test_all_faults_are_named() -> None:
    bad = replace(
        GOOD, size=5, eye_ratio=0.1, nose_offset=2, sharpness=0, flatness=1, cheek=(0, 0, 0)
    )
    assert faults(bad) == ("small", "profile", "blurred", "flat", "color")
