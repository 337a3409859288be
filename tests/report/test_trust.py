"""The section about trust: what the evidence amounts to, in words, and what was not checked."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from tests.report.made_study import MakeStudy, frame_of

from contextbias.measure.corrected import FEWEST
from contextbias.report import render
from contextbias.report.corrected import corrected
from contextbias.report.select import of_reader, readers_in
from contextbias.report.tables import csv_files
from contextbias.report.trust import NOT_CHECKED, Means, Trust, trust
from contextbias.tables import EstimateRow


def row(estimand: str, **fields: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {
        "estimand": estimand, "reader": "r", "dimension": "mood", "condition": "all",
        "preset": "paper", "people": "primary", "codebook": "1", "corrected": False, "n": 50,
    }  # fmt: skip
    return defaults | fields


def compared(method: str, raw: float, kappa: float | None, **fields: Any) -> list[dict[str, Any]]:
    note = None if kappa is not None else "degenerate"
    return [
        row("agreement_raw", method=method, point=raw, low=raw - 0.1, high=raw + 0.1, **fields),
        row("agreement_kappa", method=method, point=kappa, note=note, **fields),
    ]


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return frame_of(EstimateRow, [row("label_count"), row("label_count", dimension="pose"), *rows])


def words(found: Trust, dimension: str = "mood") -> str:
    (one,) = [each for each in found.rows if each.dimension == dimension]
    return one.words


def test_without_evidence_nothing_is_said() -> None:
    found = trust(frame(), "r", ["g"])
    assert found.rows == ()
    assert found.overall == ()
    assert found.corrected is None


@pytest.mark.parametrize(
    ("kappa", "said"),
    [
        (0.8, "as people do"),
        (0.799, "as people do"),  # the page shows 0.80 beside it
        (0.79, "mostly as people do"),
        (0.5, "often otherwise than people: with care"),
        (0.1, "little better than guessing: do not rely on it"),
        (-0.2, "little better than guessing: do not rely on it"),
        (None, "all pictures look alike here: nothing to tell apart"),
    ],
)
def test_kappa_in_words(kappa: float | None, said: str) -> None:
    found = trust(frame(*compared("people image", 0.9, kappa)), "r", ["g"])
    assert words(found) == said
    (cell,) = found.rows[0].cells
    assert cell.share == "90%"
    assert cell.hint.startswith("of 50, ")
    assert found.unchecked == "pose"


def test_people_who_disagree_excuse_a_reader() -> None:
    ours = row("agreement_raw", reader="people", method="image", point=0.6)
    everything = row("agreement_raw", reader="people", method="image", dimension=None, point=0.6)
    found = trust(frame(*compared("people image", 0.58, 0.3), ours, everything), "r", ["g"])
    assert words(found).endswith("people do not agree with one another either")
    assert found.columns == ("With people, pictures", "Two people, pictures")
    better = trust(frame(*compared("people image", 0.4, 0.3), ours, everything), "r", ["g"])
    assert "either" not in words(better)


def people(raw: float, kappa: float, method: str = "image") -> list[dict[str, Any]]:
    """What people say among themselves about mood."""
    keys = {"reader": "people", "method": method}
    return [
        row("agreement_raw", point=raw, **keys),
        row("agreement_fleiss", point=kappa, **keys),
    ]


@pytest.mark.parametrize(
    ("raw", "kappa", "theirs", "beyond", "said"),
    [
        # One label is in nearly all pictures: neither of them is guessing.
        (0.9, 0.0, 0.83, 0.1, "one answer is so common that agreement says little"),
        (0.95, 0.0, 0.73, 0.1, "one answer is so common that agreement says little"),
        (0.9, 0.0, 0.83, 0.7, "little better than guessing: do not rely on it"),
        (0.78, 0.3, 0.8, 0.9, "little better than guessing: do not rely on it"),
        (0.7, 0.5, 0.75, 0.5, "often otherwise than people: with care; people do not agree with "
         "one another either"),
        (0.9, 0.85, 0.95, 0.5, "as people do"),
    ],
)  # fmt: skip
def test_how_far_people_agree_decides_the_words(
    raw: float, kappa: float, theirs: float, beyond: float, said: str
) -> None:
    rows = [*compared("people image", raw, kappa), *people(theirs, beyond)]
    assert words(trust(frame(*rows), "r", ["g"])) == said


def test_there_is_no_verdict_from_a_few_items() -> None:
    few = compared("people image", 0.9, 0.0, n=19)
    assert words(trust(frame(*few), "r", ["g"])) == "too few to say"
    degenerate = compared("people set", 1.0, None, n=5)
    assert words(trust(frame(*degenerate), "r", ["g"])) == "too few to say"
    sets = compared("people set", 0.9, 0.7, n=20)
    assert words(trust(frame(*few, *sets), "r", ["g"])) == "mostly as people do"
    (one,) = trust(frame(*few), "r", ["g"]).rows
    assert one.cells[0].share == "90%"  # the evidence is shown all the same


PEOPLE, KNOWN = "contextbias annotate", "contextbias validate"
AGAIN = "contextbias extract STUDY --repeat 1"


@pytest.mark.parametrize(
    ("means", "advised"),
    [
        (Means(("simulated",), "simulated"), [PEOPLE, KNOWN, AGAIN]),
        (Means(("folder", "command"), "openai"), [PEOPLE, KNOWN, AGAIN]),
        (Means(("folder",), "openai", {"request": {"temperature": 0}}), [PEOPLE, AGAIN]),
        (Means(("folder",), "local"), [PEOPLE]),
        (Means(("simulated",), "transformers", {"request": {"temperature": 0.0}}), [PEOPLE, KNOWN]),
        (
            Means(("simulated",), "transformers", {"request": {"temperature": 0.7}}),
            [PEOPLE, KNOWN, AGAIN],
        ),
        (Means(("simulated",), "local", english=False), [PEOPLE]),
        (Means(("records",), "records", pictures=False), []),
        (Means(("folder",), ""), [PEOPLE]),
    ],
)
def test_only_what_a_study_can_do_is_advised(means: Means, advised: list[str]) -> None:
    assert [command for command, _ in trust(frame(), "r", ["g"], means).advice] == advised


@pytest.mark.parametrize(
    ("backend", "advised"),
    [
        ("simulated", [PEOPLE, KNOWN, AGAIN]),
        ("folder", [PEOPLE]),
    ],
)
def test_the_page_says_what_to_do(make_study: MakeStudy, backend: str, advised: list[str]) -> None:
    page = render(make_study(backend=backend).inputs())["index.html"].decode()
    start = page.index("Not checked: this reader has no answers")
    said = page[start : page.index("</p>", start)]
    assert re.findall("<code>(.*?)</code>", said) == advised
    assert said.endswith(".")


def test_pictures_that_came_after_peoples_sample_are_said() -> None:
    rows = [judged("wilson-clustered", 0.3), judged("ppi", 0.2)]
    found = corrected(frame(*rows), ["g"])
    assert found is not None
    assert (found.some_images, found.some_roles) == (False, False)
    for note in ("some_images", "some_roles"):
        parts = corrected(frame(*({**each, "note": note} for each in rows)), ["g"])
        assert parts is not None
        assert (parts.some_images, parts.some_roles) == (
            note == "some_images",
            note == "some_roles",
        )


def test_single_pictures_count_before_sets() -> None:
    rows = [*compared("people set", 0.5, 0.2), *compared("people image", 0.9, 0.85)]
    found = trust(frame(*rows), "r", ["g"])
    assert words(found) == "as people do"
    assert found.columns == ("With people, pictures", "With people, sets")


def test_other_evidence_without_people() -> None:
    rows = [
        *compared("reader s", 0.7, 0.6),
        *compared("repeat 1", 0.99, 0.98),
        row("known_accuracy", method="wilson", point=0.75),
        row("known_accuracy", method="wilson", point=0.1, label="calm"),
    ]
    found = trust(frame(*rows), "r", ["g"])
    assert words(found) == "not checked against people"
    shares = dict(zip(found.columns, (cell.share for cell in found.rows[0].cells), strict=True))
    assert shares == {"Read as the prompt asked": "75%", "With s": "70%", "Asked again": "99%"}


def test_a_dimension_that_lacks_one_kind_says_so() -> None:
    rows = [*compared("people image", 0.9, 0.9), *compared("repeat 1", 0.9, 0.9, dimension="pose")]
    found = trust(frame(*rows), "r", ["g"])
    cells = {one.dimension: [cell.share for cell in one.cells] for one in found.rows}
    assert cells == {"mood": ["90%", NOT_CHECKED], "pose": [NOT_CHECKED, "90%"]}
    assert found.unchecked == ""


def test_all_questions_together_and_simulated_people() -> None:
    rows = compared("people image", 0.9, 0.85, dimension=None)
    note = row("agreement_raw", reader="people", method="image", dimension=None, point=0.8,
               note="simulated_people")  # fmt: skip
    found = trust(frame(*rows, note), "r", ["g"])
    assert found.simulated
    assert "both say the same in 90% [80.0, 100.0]" in found.overall[0]
    assert found.overall[1] == "Two people who judge the same picture say the same in 80%."


def judged(method: str, point: float | None, **fields: Any) -> dict[str, Any]:
    ends = {} if point is None else {"low": point - 0.1, "high": point + 0.1}
    defaults = {"contrast": "CA-U - CF", "condition": None, "generator": "g", "label": "calm"}
    return row("prevalence", method=method, point=point, corrected=method != "wilson-clustered",
               **(defaults | ends | fields))  # fmt: skip


def test_corrected_contrasts_stand_beside_what_was_read() -> None:
    rows = [
        judged("wilson-clustered", 0.3),
        judged("ppi", 0.2),
        judged("misclassification", None, note="few_labels"),
        judged("wilson-clustered", -0.5, label="tense"),
        judged("ppi", -0.4, label="tense"),
        judged("ppi", 0.9, contrast="CA-R - CF"),
        judged("ppi", 0.9, role="nurse"),
    ]
    found = corrected(frame(*rows), ["g"])
    assert found is not None
    assert (found.population, found.is_contrast) == ("CA-U - CF", True)
    ((generator, parts),) = found.generators
    assert generator == "g"
    assert [part.label for part in parts] == ["mood: tense", "mood: calm"]
    assert parts[1].cells == (
        ("+30.0", "[+20.0, +40.0]"),
        ("+20.0", "[+10.0, +30.0]"),
        ("–", "few labels"),
    )


def test_the_first_contrast_with_a_number_is_shown_else_shares() -> None:
    few = [
        judged("wilson-clustered", 0.3),
        judged("ppi", None, note="few_labels"),
        judged("misclassification", 0.2),
    ]
    found = corrected(frame(*few), ["g"])
    assert found is not None
    assert found.generators == ()
    whole = {"contrast": None, "condition": "all"}
    shares = [judged("wilson-clustered", 0.4, **whole), judged("ppi", 0.35, **whole)]
    found = corrected(frame(*few, *shares), ["g"])
    assert found is not None
    assert (found.population, found.is_contrast) == ("all", False)
    ((_, (one,)),) = found.generators
    assert one.cells[:2] == (("40.0%", "[30.0, 50.0]"), ("35.0%", "[25.0, 45.0]"))
    others = [judged("wilson-clustered", -0.1, contrast="CA-U - CA-R"),
              judged("ppi", 0.1, contrast="CA-U - CA-R")]  # fmt: skip
    found = corrected(frame(*few, *shares, *others), ["g"])
    assert found is not None
    assert found.population == "CA-U - CA-R"


def test_too_few_judged_pictures_are_said(make_study: MakeStudy) -> None:
    study = make_study().inputs()
    known = {"reader": "reader", "generator": "g", "preset": study.facts.preset}
    few = [judged("ppi", None, note="few_labels", **known)]
    estimates = pl.concat([study.estimates, frame_of(EstimateRow, few)])
    page = render(replace(study, estimates=estimates))["index.html"].decode()
    assert f"it takes {FEWEST} with an answer" in page


@pytest.mark.parametrize(
    ("population", "said", "unsaid"),
    [
        ({}, "g, CA-U \N{MINUS SIGN} CF, all roles", "Share of pictures, in percent"),
        ({"contrast": None, "condition": "CF"}, "g, CF, all roles", "percentage points"),
        ({"contrast": None, "condition": "all"}, "<h3>g, all roles", "percentage points"),
    ],
)
def test_corrected_numbers_on_the_page(
    make_study: MakeStudy, population: dict[str, Any], said: str, unsaid: str
) -> None:
    study = make_study().inputs()
    known = {"reader": "reader", "generator": "g", "preset": study.facts.preset}
    more = [
        judged(method, 0.3, **{**known, **population}) for method in ("wilson-clustered", "ppi")
    ]
    estimates = pl.concat([study.estimates, frame_of(EstimateRow, more)])
    page = render(replace(study, estimates=estimates))["index.html"].decode()
    start = page.index("Numbers that allow for the reader")
    part = page[start : page.index("</details>", start)]
    assert said in part
    assert unsaid not in part


def test_rows_beside_peoples_answers_are_in_no_other_table() -> None:
    own = row("prevalence", generator="g", role="nurse", condition="CF", label="calm", point=0.5,
              method="wilson", cohort="scene")  # fmt: skip
    more = judged("ppi", 0.1, role="nurse", condition="CF", contrast=None, cohort="scene")
    pooled = judged("wilson-clustered", 0.1, condition="CF", contrast=None, cohort="scene")
    ours = row("agreement_raw", reader="people", method="image", point=0.6)
    estimates = frame(own, more, pooled, ours)
    assert readers_in(estimates, ["r"]) == ["r"]
    kept = of_reader(estimates, "r").filter(pl.col("estimand") == "prevalence")
    assert kept["point"].to_list() == [0.5]
    files = csv_files(estimates)
    assert files["associations.csv"].count(b"\n") == 2
    assert files["corrected.csv"].count(b"\n") == 3
