from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
from tests.report.made_study import MakeStudy, frame_of

from contextbias.report import render
from contextbias.report.missing import (
    Answers,
    answers_read,
    failed_images,
    failed_table,
    missing_view,
)
from contextbias.tables import EstimateRow


def gone(condition: str, dimension: str, reason: str, count: int, n: int = 10) -> dict[str, Any]:
    return {
        "estimand": "missing", "generator": "g", "condition": condition, "dimension": dimension,
        "label": reason, "point": float(count), "n": n,
    }  # fmt: skip


def images(role: str, condition: str, n: int) -> dict[str, Any]:
    return {
        "estimand": "images", "generator": "g", "role": role, "condition": condition, "n": n,
    }  # fmt: skip


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    cells = [images("baker", "CF", 10), images("baker", "CA-U", 10), images("judge", "CF", 3)]
    read = {"estimand": "prevalence", "generator": "g", "role": "baker", "label": "calm"}
    return frame_of(EstimateRow, [*cells, *rows, read | {"dimension": "mood", "condition": "CF"}])


def test_reasons_stand_by_cell_the_most_frequent_first() -> None:
    view = missing_view(
        frame(gone("CF", "pose", "refused", 1), gone("CF", "pose", "unknown", 3)), ["g"]
    )

    assert view.columns == (("g", "CF"), ("g", "CA-U"))
    ((name, cells),) = view.rows
    assert name == "pose"
    assert cells[0].reasons == (("unknown", "3"), ("refused", "1"))
    assert cells[0].fill == 40.0
    assert cells[1].reasons == ()
    assert view.sizes == ("10", "")


def test_dimensions_are_sorted_into_unreadable_unanswered_and_complete() -> None:
    view = missing_view(
        frame(
            gone("CF", "weather", "not_readable", 10),
            gone("CA-U", "weather", "not_readable", 10),
            gone("CF", "pose", "unknown", 10),
            gone("CA-U", "pose", "unknown", 9),
            gone("CA-U", "pose", "refused", 1),
        ),
        ["g"],
    )

    assert view.unreadable == ("weather",)
    assert view.unanswered == (("19 unknown, 1 refused", ("pose",)),)
    assert view.nothing == ""
    assert view.complete == ("mood",)
    assert view.rows == ()


def test_where_nothing_was_answered_the_page_says_so_and_why(make_study: MakeStudy) -> None:
    rows = [gone(c, name, "refused", 10) for c in ("CF", "CA-U") for name in ("mood", "pose")]
    view = missing_view(frame(*rows), ["g"])
    assert view.unanswered == (("20 refused", ("mood", "pose")),)
    assert view.nothing == "20 refused"
    study = make_study().inputs()
    made = frame(*rows).filter(pl.col("estimand") != "prevalence")
    keys = {"reader": "viewer", "preset": "paper", "people": "primary", "codebook": "1"}
    made = made.with_columns(
        *(pl.lit(value).alias(name) for name, value in keys.items()), corrected=pl.lit(value=False)
    ).select(study.estimates.columns)
    page = render(replace(study, estimates=made))["index.html"].decode()
    assert "No question was answered about any picture" in page
    assert "Images without an answer, by reason: 20 refused." in page
    assert "mood, pose (20 refused)." in page


def test_a_file_that_cannot_be_decoded_does_not_tell_what_can_be_read() -> None:
    view = missing_view(
        frame(
            gone("CF", "weather", "not_readable", 9),
            gone("CF", "weather", "corrupt", 1),
            gone("CA-U", "weather", "corrupt", 10),
            gone("CF", "pose", "corrupt", 10),
            gone("CA-U", "pose", "corrupt", 10),
        ),
        ["g"],
    )

    assert view.unreadable == ("weather",)
    assert view.unanswered == (("20 corrupt", ("pose",)),)


def test_answers_are_counted_over_what_the_reader_can_read() -> None:
    rows = [
        gone("CF", "pose", "unknown", 2, n=13) | {"cohort": "people"},
        gone("CF", "pose", "corrupt", 1, n=13) | {"cohort": "people"},
        gone("CA-U", "age_range", "no_person", 4) | {"cohort": "people"},
        gone("CF", "hair_style", "not_readable", 13, n=13) | {"cohort": "people"},
        gone("CA-U", "hair_style", "not_readable", 10) | {"cohort": "people"},
        gone("CF", "weather", "unknown", 5, n=13) | {"cohort": "scene"},
    ]

    # Pose and age: 2 x 13 questions in CF (10 bakers, 3 judges), 2 x 10 in CA-U.
    assert answers_read(frame(*rows), "g", "people") == {
        "CF": Answers(23, 26),
        "CA-U": Answers(16, 20),
    }


def test_a_role_without_images_in_a_condition_is_named() -> None:
    view = missing_view(frame(), ["g"])

    assert view.left_out == ("judge (g): no image in CA-U",)
    assert view.counts == (("baker", ("10", "10")), ("judge", ("3", "0")))


def test_images_without_a_file_are_listed_with_the_reason(make_study: MakeStudy) -> None:
    inputs = make_study().inputs()
    broken = next(image for image in inputs.images if image.status != "ok")
    root = inputs.report_dir.parent
    inside = replace(broken, path=str(root / "images" / "a.png"))
    outside = replace(broken, path=str(root.parent / "pics" / "b.jpg"))

    (row,) = failed_images([inside, *inputs.images[1:]], root)
    (other,) = failed_images([outside], root)
    (refused,) = failed_images([replace(broken, path=None)], root)

    assert (row.generator, row.status, row.reason) == ("steady", "corrupt", "cut off")
    assert row.file == "images/a.png"
    assert (other.file, refused.file) == ("../pics/b.jpg", "")
    assert failed_table([row])["file"].to_list() == [row.file]
