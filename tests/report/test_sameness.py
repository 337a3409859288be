from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests import rows
from tests.report.made_study import StudyMaker

from contextbias.report.asked import run_rows
from contextbias.report.sameness import equal_pictures, models
from contextbias.tables import ImageRow


def images(*told: dict[str, str], generator: str = "g", status: str = "ok") -> list[ImageRow]:
    return [
        rows.image(f"{generator}{n}", generator=generator, status=status, provenance=each)
        for n, each in enumerate(told)
    ]


def test_equal_pictures_are_counted_by_generator() -> None:
    # Of four pictures two have the pixels of an earlier one; another generator's do not count.
    mine = images({"pixels": "a"}, {"pixels": "a"}, {"pixels": "b"}, {"pixels": "a"})
    others = images({"pixels": "a"}, {}, generator="h")
    failed = images({"pixels": "z"}, {"pixels": "z"}, generator="k", status="blank")
    assert equal_pictures([*mine, *others, *failed]).startswith("g: 2 of 4 have the pixels")
    assert equal_pictures(others) == ""


def test_more_than_one_model_under_one_name_is_said() -> None:
    mixed = images({"revision": "files a"}, {"revision": "files b"}, {"revision": "files a"})
    assert models(mixed) == "g is more than one model: 2 by files a, 1 by files b"
    assert models(mixed[:1]) == models(images({}, {})) == ""


def test_the_head_of_the_page_says_both(tmp_path: Path) -> None:
    inputs = StudyMaker(folder=tmp_path).inputs()
    assert not {"Equal pictures", "Models"} & dict(run_rows(inputs)).keys()
    told = [
        replace(image, provenance={"pixels": "same", "revision": f"r{n % 2}"})
        for n, image in enumerate(inputs.images)
    ]
    found = dict(run_rows(replace(inputs, images=told)))
    assert "have the pixels of another one" in found["Equal pictures"]
    assert "is more than one model" in found["Models"]
