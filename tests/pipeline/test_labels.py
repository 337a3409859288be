"""Grouped labels in a study: the mapping that lies there, overrides, and what is said."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.test_bad_input import assert_refused, call
from tests.small_study import two_roles

from contextbias import pipeline
from contextbias.canonicalise import LabelMapping
from contextbias.canonicalise.cluster import Constraints
from contextbias.canonicalise.encoder import Vectors
from contextbias.errors import ConfigError, InputError, MissingPart
from contextbias.pipeline import Options
from contextbias.pipeline.derived import stale
from contextbias.pipeline.selection import Wanted
from contextbias.progress import Silent
from contextbias.store import Study

STUDY = two_roles("""
[canonicalise]
mapping = "table"
""")


class Heard(Silent):
    """Progress that remembers."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)


class OneThing:
    """An encoder to which everything is alike."""

    name = "one"
    calls = 0

    def encode(self, terms: Sequence[str]) -> Vectors:
        OneThing.calls += 1
        return np.ones((len(terms), 1), np.float32)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finished") / "study"
    Study.create(root, STUDY).close()
    run(root, "bench", "generate", "extract", "canonicalise")
    return root


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "study"))


def run(root: Path, *stages: str) -> list[str]:
    heard = Heard()
    with Study.open(root, writing=True) as study:
        pipeline.run(study, stages, Options(progress=heard))
    return heard.said


def change(root: Path, old: str, new: str) -> None:
    text = (root / "study.toml").read_text()
    assert old in text
    (root / "study.toml").write_text(text.replace(old, new))


def mapping(root: Path) -> LabelMapping:
    return LabelMapping.from_json((root / "derived" / "mapping.json").read_bytes())


def counted(root: Path) -> set[str]:
    facts = pl.read_parquet(root / "derived" / "attributes.parquet")
    return set(facts.filter(dimension="clothing_garment")["label"].drop_nulls())


def test_every_label_counted_is_one_of_the_mapping(study: Path) -> None:
    made = mapping(study)
    assert made.method == "table"
    assert made.made["encoder"] is None
    assert counted(study) == set(made.labels["clothing_garment"].values())


def test_nothing_is_grouped_twice(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextbias.canonicalise.encoder.MiniLM", OneThing)
    monkeypatch.setattr(
        "contextbias.canonicalise.grouping.kept_apart",
        lambda names, dimension: Constraints.none(len(names)),
    )
    change(study, '"table"', '"cluster"')
    OneThing.calls = 0
    said = run(study, "canonicalise")
    calls = OneThing.calls
    assert calls > 0
    assert any("by cluster" in line for line in said)
    assert any(" was " in line for line in said)
    before = (study / "derived" / "mapping.json").read_bytes()
    run(study, "canonicalise", "measure")
    assert OneThing.calls == calls
    assert (study / "derived" / "mapping.json").read_bytes() == before
    change(study, "[measure]", "threshold = 0.2\n[measure]")
    with Study.open(study) as opened:
        assert "attributes" in stale(Wanted(opened))
    assert OneThing.calls == calls  # asking does not group
    run(study, "canonicalise")
    assert OneThing.calls == 2 * calls
    assert mapping(study).made["threshold"] == 0.2


def test_overrides_survive_other_settings(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextbias.canonicalise.encoder.MiniLM", OneThing)
    (study / "own.toml").write_text('[clothing_garment]\n"Scrubs" = "work clothes"\n')
    change(study, '"table"', '"table"\noverrides = "own.toml"')
    said = run(study, "canonicalise")
    assert "clothing_garment: 'scrubs' was 'scrubs', is 'work clothes'" in said
    assert "work clothes" in counted(study)
    change(study, '"table"', '"cluster"')
    run(study, "canonicalise")
    assert mapping(study).canonical("clothing_garment", "scrubs") == "work clothes"
    assert mapping(study).rules["clothing_garment"]["scrubs"] == "override"


def test_missing_weights_name_the_way_out(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTBIAS_CACHE", str(study / "no-cache"))
    change(study, '"table"', '"cluster"')
    with pytest.raises(MissingPart, match=r'models fetch.*mapping = "table"'):
        run(study, "canonicalise")
    with Study.open(study) as opened:  # and nothing else breaks
        assert "attributes" in stale(Wanted(opened))


def test_wrong_settings_are_refused(study: Path) -> None:
    change(study, '"table"', '"table"\noverrides = "own.toml"')
    with pytest.raises(InputError, match=r"own\.toml"):
        run(study, "canonicalise")
    change(study, '"table"', '"pass-through"')
    with pytest.raises(ConfigError, match="overrides has no effect with mapping = 'pass-through'"):
        run(study, "canonicalise")


def test_a_damaged_mapping_is_not_written_over(study: Path) -> None:
    path = study / "derived" / "mapping.json"
    path.write_bytes(path.read_bytes().replace(b'"scrubs": "scrubs"', b'"scrubs": "gown"'))
    change(study, "[measure]", "# another\n[measure]")
    change(study, '"table"', '"pass-through"')
    with pytest.raises(InputError, match="was changed by hand"):
        run(study, "canonicalise")


def test_labels_command(study: Path) -> None:
    every = call("labels", study, "--all")
    assert every.returncode == 0, every.stderr
    lines = every.stdout.splitlines()
    assert lines[0] == "dimension,label,term,rule"
    assert len(lines) - 1 == sum(len(pairs) for pairs in mapping(study).labels.values())
    none = call("labels", study)
    assert none.stdout.splitlines() == ["dimension,label,term,rule"]
    assert "no label has several terms; --all shows every term" in none.stderr
    (study / "own.toml").write_text('[clothing_garment]\n"scrubs" = "gown"\n')
    old = shutil.copy(study / "derived" / "mapping.json", study / "old.json")
    change(study, '"table"', '"table"\noverrides = "own.toml"')
    assert call("canonicalise", study).returncode == 0
    shown = call("labels", study)
    assert "clothing_garment,gown,scrubs,override" in shown.stdout.splitlines()
    for other in (Path(old),):
        diff = call("labels", study, "--diff", other)
        assert diff.stdout.splitlines() == [
            "dimension,term,label,other", "clothing_garment,scrubs,gown,scrubs",
        ]  # fmt: skip
    assert call("labels", study, "--diff", study).stdout.splitlines() == [
        "dimension,term,label,other"
    ]


def test_labels_of_no_study_are_refused(study: Path, tmp_path: Path) -> None:
    assert_refused(call("labels", tmp_path / "nowhere"), "nowhere")
    (study / "derived" / "mapping.json").unlink()
    assert_refused(call("labels", study), "has no labels")
