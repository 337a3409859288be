from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.annotate.made import answering, tokens
from typer.testing import CliRunner

from contextbias.annotate.questions import Choice, Question
from contextbias.annotate.simulate import _wrong
from contextbias.annotation_tables import GOLD, SAMPLE
from contextbias.cli.main import app
from contextbias.errors import InputError
from contextbias.people import Annotations, Rules, qualities
from contextbias.pipeline import status
from contextbias.pipeline.annotation import simulate_people
from contextbias.store import Study


def test_simulated_people_answer_everything_once(folder: Path) -> None:
    made = simulate_people(folder, 2)
    assert set(made) == {"simulated-1", "simulated-2"}
    with answering(folder) as study:
        for name in made:
            assert made[name] == study.progress(name).total == study.progress(name).done
    assert simulate_people(folder, 2) == {"simulated-1": 0, "simulated-2": 0}
    with Annotations.open(folder) as book:
        rows = book.labels()
        assert {row.annotator_kind for row in rows} == {"simulated"}
        seen = Counter((row.item, row.dimension) for row in rows if row.purpose == SAMPLE)
        assert set(seen.values()) <= {2, 3, 4}  # two people, some items twice


def test_status_says_how_far_people_are(folder: Path) -> None:
    tokens(folder, ["ann"])
    made = sum(simulate_people(folder, 2).values())
    with Study.open(folder) as study:
        people = status(study)["people"]
    with answering(folder) as asked:
        wanted = made + asked.progress("ann").total
    assert people == {"invited": 3, "simulated": 2, "answers": made, "wanted": wanted}
    text = CliRunner().invoke(app, ["status", str(folder)]).stdout
    assert f"people      3 invited, 2 of them simulated; {made:,} of {wanted:,} answers\n" in text


def test_they_are_mostly_right_and_not_always(folder: Path) -> None:
    simulate_people(folder, 6)
    with Annotations.open(folder) as book:
        found = qualities(book.by_annotator(), book.items(), Rules())
    shares = [quality.gold_right for quality in found if quality.gold_answers]
    assert all(share is not None and share > 0.5 for share in shares)
    rows = [row for row in book_rows(folder) if row.purpose == GOLD]
    assert rows


def book_rows(folder: Path) -> list:  # type: ignore[type-arg]
    with Annotations.open(folder) as book:
        return book.labels()


def test_the_same_seed_gives_the_same_answers(folder: Path, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "other"
    shutil.copytree(folder, other)
    simulate_people(folder, 2)
    simulate_people(other, 2)

    def facts(place: Path) -> list[tuple[object, ...]]:
        return [
            (r.annotator, r.item, r.repeat, r.dimension, r.labels, r.count, r.seconds)
            for r in book_rows(place)
        ]

    assert facts(folder) == facts(other)


def test_people_and_simulated_people_share_the_items(folder: Path) -> None:
    tokens(folder, 1)
    simulate_people(folder, 1)
    with answering(folder) as study:
        both = [{t.item.item for t in study.tasks(n)} for n in ("a1", "simulated-1")]
        sample = {i.item for i in study.items.values() if i.purpose == SAMPLE}
        assert all(sample <= found for found in both)


def test_nobody_can_be_simulated_about_real_images(folder: Path) -> None:
    tokens(folder, 1)
    for truth in folder.rglob("*.truth.json"):
        truth.unlink()
    with pytest.raises(InputError, match="no planted truth"):
        simulate_people(folder, 1)


def test_lists_can_be_wrong_in_part() -> None:
    words = [Choice(name, name, "1", is_reason=False) for name in ("red", "blue", "green", "none")]
    asked = Question("dominant_colors", "", "", "", False, True, tuple(words), ())
    found = Counter(frozenset(_wrong(asked, ["red", "blue"], random.Random(k))) for k in range(400))
    assert set(found) == {
        frozenset(each) for each in (["green"], ["red"], ["blue"], ["red", "blue", "green"])
    }
    assert min(found.values()) > 20  # of 400: 200, 50, 50 and 100
    # Nothing of the kind stands beside nothing else, and a single answer is never two.
    assert {tuple(_wrong(asked, ["none"], random.Random(k))) for k in range(100)} == {
        ("red",), ("blue",), ("green",),
    }  # fmt: skip
    single = replace(asked, several=False)
    assert {len(_wrong(single, ["red"], random.Random(k))) for k in range(50)} == {1}
