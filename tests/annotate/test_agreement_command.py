"""`contextbias annotate agreement`, and the same answers in a study's numbers and its report."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import polars as pl
import pytest
from tests.annotate.made import answering, rewrite, tokens
from tests.annotate.test_command import call

from contextbias.cli.agreement_text import as_table
from contextbias.pipeline import Options, run
from contextbias.pipeline.annotation import simulate_people
from contextbias.pipeline.people import (
    drawable_images,
    people_agreement,
    people_answers,
    people_fingerprint,
)
from contextbias.pipeline.selection import Wanted
from contextbias.store import STORE_FILE, Study


@contextmanager
def opened(folder: Path) -> Iterator[Study]:
    with Study.open(folder, writing=True) as study:
        yield study


def estimates(folder: Path) -> pl.DataFrame:
    with opened(folder) as study:
        run(study, ("extract", "canonicalise", "measure"), Options())
        found = study.estimates()
    assert found is not None
    return found


def test_a_table_to_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate_people(folder, 3)
    estimates(folder)
    code, out, _ = call(capsys, "agreement", folder)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "3 annotators count (simulated: nothing here is about people)"
    assert "Sets of pictures" in lines
    assert "Single pictures" in lines
    assert any(line.startswith("overall") for line in lines)
    assert any(line.startswith("Cohen, (1) simulated-1 with simulated-2: ") for line in lines)
    head = lines.index(f"{'Cohen, pair':<24}" + "     (1)     (2)     (3)")
    # Three columns, one a pair, of every question that some pair has in common.
    questions = {line[:24].strip() for line in lines[head + 1 : head + 10] if len(line) == 48}
    assert {"age range", "clothing color"} <= questions
    assert any("again:" in line for line in lines)
    assert any("`unknown` are left out here; the rule about repeats" in line for line in lines)
    assert any("gold answers right" in line for line in lines)
    assert "most people, and reader" in out


def test_json_csv_and_what_most_people_say(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    simulate_people(folder, 2)
    numbers, said = tmp_path / "a.csv", tmp_path / "c.csv"
    code, out, _ = call(capsys, "agreement", folder, "--out", numbers, "--consensus", said)
    assert (code, out) == (0, "")
    rows = list(csv.DictReader(io.StringIO(numbers.read_text())))
    assert {"agreement_fleiss", "agreement_ac1"} <= {row["estimand"] for row in rows}
    items = list(csv.DictReader(io.StringIO(said.read_text())))
    assert {row["kind"] for row in items} == {"set", "image"}
    assert all(float(row["prevalence_paper"]) <= 1 for row in items if row["prevalence_paper"])
    _, out, _ = call(capsys, "agreement", folder, "--json")
    table = json.loads(out)
    assert table["simulated_annotators"] == 2
    assert {row["annotator"] for row in table["annotators"]} == {"simulated-1", "simulated-2"}
    assert {row["reader"] for row in table["agreement"]} == {"people"}  # nothing is read yet


def test_without_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "agreement", folder)
    assert code == 2
    assert "no answers of people" in err
    code, _, err = call(capsys, "agreement", folder / "nowhere")
    assert code == 2


def test_who_is_excluded_is_named_and_does_not_count(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(folder, "set_size = 4", "set_size = 4\nexclude_faster_than = 600.0")
    simulate_people(folder, 2)
    code, _, err = call(capsys, "agreement", folder)
    assert code == 2
    assert "no answers that count" in err
    assert people_answers(folder, None) is not None
    assert not estimates(folder)["estimand"].str.starts_with("agreement").any()


def test_measure_takes_new_answers_in_and_forgets_removed_ones(folder: Path) -> None:
    assert people_fingerprint(folder) is None
    assert people_answers(folder, None) is None
    before = estimates(folder)
    assert not before["corrected"].any()
    simulate_people(folder, 2)
    first = people_fingerprint(folder)
    assert first is not None
    tokens(folder, ["late"])
    assert people_fingerprint(folder) == first  # who has not answered changes no number
    after = estimates(folder)
    assert (after["reader"] == "people").any()
    assert after.filter(pl.col("corrected"))["note"].unique().to_list() == ["few_labels"]
    with opened(folder) as study:
        assert run(study, ("measure",), Options())[0].note == "nothing to do"
    with answering(folder) as people:
        people.remove("simulated-1")
    assert people_fingerprint(folder) != first
    found = estimates(folder)
    assert not found["method"].str.contains(" with ", literal=True).fill_null(False).any()


def test_agreement_now_is_that_of_measure(folder: Path) -> None:
    simulate_people(folder, 2)
    measured = estimates(folder)
    asked = people_agreement(folder).estimates
    keys = ["estimand", "reader", "generator", "dimension", "method"]
    kept = measured.filter(
        (pl.col("reader") == "people") | pl.col("method").str.starts_with("people ")
    )
    assert asked.sort(keys).equals(kept.sort(keys))


def test_the_report_says_what_was_checked(folder: Path) -> None:
    estimates(folder)
    with opened(folder) as study:
        run(study, ("report",), Options())
    page = (folder / "report/index.html").read_text()
    assert "Not checked: this reader has no answers of people" in page
    simulate_people(folder, 2)
    estimates(folder)
    with opened(folder) as study:
        run(study, ("report",), Options())
    page = (folder / "report/index.html").read_text()
    assert "The people here are simulated" in page
    assert "With people, pictures" in page
    assert "Not checked:" in page  # dimensions that nobody was asked about
    assert (folder / "report/tables/corrected.csv").exists()
    text = (folder / "report/tables/associations.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    cells = [(row["reader"], row["generator"], row["role"], row["dimension"], row["label"])
             for row in rows]  # fmt: skip
    assert len(set(cells)) == len(cells)


EARLIER = "2026-01-01T00:00:00.500+00:00"
"""When people's sample was drawn, where a study grows afterwards."""


def test_a_study_that_grows_has_corrected_numbers_of_what_could_be_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(folder, "images = 5", "images = 24")
    with closing(sqlite3.connect(folder / STORE_FILE)) as store, store:  # times are to the second
        store.execute("UPDATE images SET created_at = '2026-01-01T00:00:00+00:00'")
    monkeypatch.setattr("contextbias.annotate.invitation.now", lambda: EARLIER)
    simulate_people(folder, 1)
    with opened(folder) as study:
        first = {image.image_id for image in study.images()}
        assert drawable_images(folder, Wanted(study).images) is None
    before = estimates(folder).filter(pl.col("corrected"))
    assert "some_images" not in before["note"].to_list()
    rewrite(folder, 'roles = ["nurse"]', 'roles = ["nurse", "welder"]')
    rewrite(folder, "images_per_prompt = 2", "images_per_prompt = 3")
    with opened(folder) as study:
        run(study, ("bench", "generate"), Options())
        assert drawable_images(folder, Wanted(study).images) == first
        later = sum(image.image_id not in first for image in study.images())
    found = people_agreement(folder)
    assert found.later == later > 0
    assert f"\n{later} images came after the sample was drawn" in as_table(found)
    after = estimates(folder)
    rows = after.filter(pl.col("corrected") & pl.col("point").is_not_null())
    assert rows.height
    assert set(rows["note"]) == {"some_images"}
    plain = after.filter(pl.col("method") == "wilson-clustered", pl.col("condition") == "all",
                         pl.col("estimand") == "prevalence", pl.col("role").is_null())  # fmt: skip
    assert set(plain["n"] + plain["n_missing"]) == {len(first)}


def test_roles_left_out_when_the_sample_was_drawn_could_not_be_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite(folder, 'roles = ["nurse"]', 'roles = ["nurse", "welder"]')
    with opened(folder) as study:
        run(study, ("bench", "generate"), Options())
        nurses = {image.image_id for image in study.images() if image.role == "nurse"}
    rewrite(folder, 'roles = ["nurse", "welder"]', 'roles = ["nurse"]')
    simulate_people(folder, 1)
    rewrite(folder, 'roles = ["nurse"]', 'roles = ["nurse", "welder"]')
    with opened(folder) as study:
        assert drawable_images(folder, Wanted(study).images) == nurses
