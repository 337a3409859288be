"""A study whose labels a language model has a part in: asked once, kept, shown, switched off."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

import pytest
from tests.cli.test_bad_input import assert_refused, call
from tests.llm.fake import FakeModel, Said
from tests.small_study import two_roles

from contextbias import pipeline
from contextbias.canonicalise import TABLE, Grouping, LabelMapping, llm
from contextbias.canonicalise.cluster import Constraints
from contextbias.errors import ConfigError, Incomplete
from contextbias.llm import Journal, Question, Settler
from contextbias.pipeline import Options, model_labels
from contextbias.pipeline.derived import stale
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.specifications import CHOICES, Curve, specifications
from contextbias.progress import Silent
from contextbias.store import Study

STUDY = two_roles(
    """
[canonicalise]
mapping = "model"
groups = "table"
model = { model = "fake", base_url = "http://127.0.0.1:9/v1" }
"""
)


class Heard(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)


def work_wear(asked: Question) -> Said:
    """Takes scrubs and overalls for one thing, and leaves the rest."""
    terms, shown = list(asked.about["terms"]), list(asked.about["shown"])
    same = [name for name in shown if {name, terms[0]} == {"scrubs", "overalls"}]
    return {"groups": [{"label": terms[0], "terms": terms, "same_as": same}]}


@pytest.fixture(autouse=True)
def nothing_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The few things of the simulated reader are all kept apart by the packaged table."""
    monkeypatch.setattr(
        "contextbias.canonicalise.llm_join.kept_apart",
        lambda names, dimension: Constraints.none(len(names)),
    )


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    found = FakeModel(work_wear)
    monkeypatch.setattr(model_labels, "_served", lambda *_: found)
    return found


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("read") / "study"
    Study.create(root, STUDY).close()
    run(root, "bench", "generate", "extract")
    return root


@pytest.fixture
def study(read: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(read, tmp_path / "study"))


def run(root: Path, *stages: str) -> list[str]:
    heard = Heard()
    with Study.open(root, writing=True) as study:
        pipeline.run(study, stages, Options(progress=heard))
    return heard.said


def mapping(root: Path) -> LabelMapping:
    return LabelMapping.from_json((root / "derived" / "mapping.json").read_bytes())


def stale_files(root: Path) -> list[str]:
    with Study.open(root) as study:
        return stale(Wanted(study))


def test_the_answers_outlive_what_is_derived(study: Path, model: FakeModel) -> None:
    said = run(study, "canonicalise", "measure")
    assert any("groups put to fake-2026-01-01" in line for line in said)
    number, before = len(model.asked), mapping(study)
    assert number
    assert stale_files(study) == []
    shutil.rmtree(study / "derived")
    run(study, "canonicalise")
    assert len(model.asked) == number
    assert mapping(study) == before
    run(study, "canonicalise")
    assert len(model.asked) == number


def test_labels_shows_what_the_model_changed(study: Path, model: FakeModel, tmp_path: Path) -> None:
    run(study, "canonicalise")
    done = call("labels", str(study), "--model")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    made = mapping(study)
    assert all(made.labels[r["dimension"]][r["term"]] == r["label"] for r in rows)
    assert {r["model"] for r in rows} <= {"fake-2026-01-01"}
    out = tmp_path / "offline.json"
    assert call("labels", str(study), "--write-offline", str(out)).returncode == 0
    offline = LabelMapping.from_json(out.read_bytes())
    changed = {
        (name, term)
        for name, pairs in made.labels.items()
        for term, label in pairs.items()
        if offline.labels[name][term] != label
    }
    assert {(r["dimension"], r["term"]) for r in rows} == changed
    assert len(changed) == 1


def test_a_spent_budget_pauses_and_goes_on(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, rest = FakeModel(work_wear, until=2), FakeModel(work_wear)
    monkeypatch.setattr(model_labels, "_served", lambda *_: first)
    with pytest.raises(Incomplete):
        run(study, "canonicalise")
    assert not (study / "derived" / "mapping.json").exists()
    monkeypatch.setattr(model_labels, "_served", lambda *_: rest)
    run(study, "canonicalise")
    asked = [q.key for q in (*first.asked, *rest.asked)]
    assert len(first.asked) == 2
    assert len(asked) == len(set(asked))


def test_no_answer_is_said_and_asked_again(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextbias.llm import Answer

    down = FakeModel(lambda q: Answer("error", "cut off"))
    monkeypatch.setattr(model_labels, "_served", lambda *_: down)
    said = run(study, "canonicalise")
    assert any("run canonicalise again" in line for line in said)
    assert stale_files(study) == []
    up = FakeModel(work_wear)
    monkeypatch.setattr(model_labels, "_served", lambda *_: up)
    run(study, "canonicalise")
    assert len(up.asked) == len(down.asked)


def test_a_label_of_more_groups_than_anybody_saw_is_said() -> None:
    def glues(asked: Question) -> Said:
        terms = list(asked.about["terms"])
        same = list(asked.about["shown"])
        return {"groups": [{"label": terms[0], "terms": terms, "same_as": same}]}

    def said(number: int) -> list[str]:
        model = FakeModel(glues)
        settler = Settler(Journal(None), model.settings(), model)
        terms = {"items": {f"q{n:02}": 1 for n in range(number)}}
        found = model_labels.decisions_in_words(
            llm.model_labels(terms, Grouping(method=TABLE), settler)
        )
        return [line for line in found if "more than the model ever saw" in line]

    assert said(13) == []
    assert said(14) == [
        "items: 'q00' is the label of 14 groups now, more than the model ever saw at once: look at "
        "`contextbias labels --model` before you use it"
    ]


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('mapping = "model"', "needs a language model"),
        ('mapping = "table"\nmodel = { model = "m" }', "no effect"),
        ('mapping = "table"\ngroups = "table"', "no effect"),
        ('mapping = "model"\nmodel = { model = "m", tempratur = 1 }', "tempratur"),
        (
            'mapping = "model"\nmodel = { model = "gpt-5-mini", temperature = 1 }',
            "refuses a temperature",
        ),
        ('mapping = "model"\nmodel = { model = "m", base_url = "x" }', "not an address"),
        ('mapping = "model"\nmodel = { model = "nobody-knows-it", budget = 1.0 }', "price"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_asked(
    study: Path, section: str, said: str
) -> None:
    text = STUDY.replace(STUDY[STUDY.index('mapping = "model"') : STUDY.index("[measure]")], "")
    (study / "study.toml").write_text(text.replace("[canonicalise]", f"[canonicalise]\n{section}"))
    with pytest.raises(ConfigError, match=said):
        run(study, "canonicalise")


def test_labels_without_a_model_say_so(study: Path, model: FakeModel) -> None:
    text = (study / "study.toml").read_text()
    start, end = text.index('mapping = "model"'), text.index("[measure]")
    (study / "study.toml").write_text(text[:start] + 'mapping = "table"\n' + text[end:])
    run(study, "canonicalise")
    assert_refused(call("labels", str(study), "--model"), "no language model took part")


def test_the_curve_has_the_offline_groups_too(study: Path, model: FakeModel) -> None:
    run(study, "canonicalise", "measure")
    with Study.open(study) as opened:
        rows = specifications([opened], Curve())
    assert set(rows["mapping"]) == {"study", "offline groups"}
    assert set(rows.filter("main")["mapping"]) == {"study"}
    by = {name: rows.filter(mapping=name).sort(CHOICES) for name in ("study", "offline groups")}
    assert by["study"].height == by["offline groups"].height
    # Scrubs and overalls are one label in the one, and two in the other.
    assert by["study"]["point"].to_list() != by["offline groups"]["point"].to_list()
