"""Pictures with nothing to see: found at once, and made again where a cure is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from contextbias.generate.finishing import cured, finished
from contextbias.generate.origin import Origin

ORIGIN = Origin(image_id="x", generator="g", seed=0)


def only(generator: Any, job: Any) -> Any:
    (made,) = generator.generate([job])
    return made


def test_a_vae_that_overflows_in_half_precision_is_decoded_again_in_full(generator, job) -> None:
    """A fine-tuned SDXL whose VAE does not say that it needs float32: real numbers, no mock."""
    half = generator("overflowing", profile="sdxl", dtype="float16")
    made = only(half, job(3))
    assert made.status == "ok"
    assert not np.isfinite(made.image).all()
    blank = finished(made, ORIGIN, "png")
    assert blank.made.status == "blank"
    better = cured(blank, lambda fault: half.cure(job(3), fault), ORIGIN, "png")
    assert better.made.status == "ok"
    assert better.first is blank
    assert better.made.provenance["vae_dtype"] == "float32"
    full = only(generator("overflowing", profile="sdxl"), job(3))
    assert np.abs(better.made.image - full.image).max() < 0.05
    # The next image is tried as the study says: no image depends on those before it.
    assert not np.isfinite(only(half, job(4)).image).all()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sdxl", {"dtype": "float16"}),  # its VAE is in float32 already
        ("overflowing", {"profile": "sdxl"}),  # all of it is
        ("flux", {"dtype": "float16"}),
        ("qwen", {}),
    ],
)
def test_where_no_cure_is_known_there_is_none(name, options, generator, job) -> None:
    ours = generator(name, **options)
    only(ours, job(0))
    assert ours.cure(job(0), "black") is None


def test_what_a_safety_checker_takes_away_is_a_refusal(generator, job, monkeypatch) -> None:
    ours = generator("sd1")
    kind = type(ours.drawing._loaded.pipeline)
    monkeypatch.setattr(
        kind,
        "run_safety_checker",
        lambda self, image, device, dtype: (image, [True] + [False] * (len(image) - 1)),
    )
    first, second = ours.generate([job(0), job(1)])
    assert (first.status, second.status) == ("blocked", "ok")
    assert "safety checker" in str(first.reason)
