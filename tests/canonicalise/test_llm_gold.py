"""The harness that measures a language model on the gold pairs, with models whose score is known.

Offline groups are those of the packaged table, so that no encoder is needed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.conftest import CHECKOUT
from tests.llm.fake import FakeModel, Said

from contextbias.canonicalise import normalise
from contextbias.llm import Journal, Question
from contextbias.llm.served import ServedModel

SERVER = os.environ.get("CONTEXTBIAS_TEST_SERVER")
SERVER_OPTIONS = os.environ.get("CONTEXTBIAS_TEST_SERVER_STRUCTURED")


@pytest.fixture(scope="module")
def gold() -> ModuleType:
    name = "perf_canonicalise_gold"
    spec = importlib.util.spec_from_file_location(name, CHECKOUT / "perf/canonicalise_gold.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def score(gold: ModuleType, model: FakeModel, half: str) -> tuple[float, float]:
    """Precision and recall."""
    every = gold.pairs()
    mapping = gold.by_model(every, model, Journal(None), groups="table")
    right, joined, same = gold.score([p for p in every if p.half == half], mapping.labels)
    return right / joined, right / same


def keeps(asked: Question) -> Said:
    terms = list(asked.about["terms"])
    return {"groups": [{"label": terms[0], "terms": terms, "same_as": []}]}


def test_a_model_that_changes_nothing_scores_as_the_offline_groups(gold: ModuleType) -> None:
    every = gold.pairs()
    mapping = gold.by_model(every, FakeModel(keeps), Journal(None), groups="table")
    test = [pair for pair in every if pair.half == "test"]
    lines = gold.model_report(test, mapping)
    assert lines[0].split()[2:] == lines[1].split()[5:]
    assert gold.score(test, mapping.labels) == gold.score(test, gold.offline_labels(mapping).labels)


def test_a_model_that_knows_the_pairs_beats_the_table(gold: ModuleType) -> None:
    """It joins what a gold pair joins, as far as it is shown; unlisted pairs are its own work."""
    same = {
        frozenset((pair.dimension, normalise(pair.first), normalise(pair.second)))
        for pair in gold.pairs()
        if pair.same
    }

    def knows(asked: Question) -> Said:
        terms, name = list(asked.about["terms"]), asked.about["dimension"]
        found = [
            other
            for other in asked.about["shown"]
            if any(frozenset((name, term, other)) in same for term in terms)
        ]
        return {"groups": [{"label": terms[0], "terms": terms, "same_as": found}]}

    before = score(gold, FakeModel(keeps), "unlisted")
    after = score(gold, FakeModel(knows), "unlisted")
    assert after[0] == 1.0
    assert after[1] > before[1] + 0.2


def test_a_model_that_splits_everything_recalls_nothing(gold: ModuleType) -> None:
    def splits(asked: Question) -> Said:
        return {
            "groups": [
                {"label": term, "terms": [term], "same_as": []} for term in asked.about["terms"]
            ]
        }

    every = gold.pairs()
    mapping = gold.by_model(every, FakeModel(splits), Journal(None), groups="table")
    right, joined, _ = gold.score(every, mapping.labels)
    # What is left are pairs of one spelling.
    spelled = sum(normalise(p.first) == normalise(p.second) for p in every)
    assert (right, joined) == (spelled, spelled)


def test_a_model_that_takes_everything_for_one_is_held_by_the_table(gold: ModuleType) -> None:
    def glues(asked: Question) -> Said:
        terms = list(asked.about["terms"])
        return {"groups": [{"label": terms[0], "terms": terms,
                            "same_as": list(asked.about["shown"])}]}  # fmt: skip

    precision, _ = score(gold, FakeModel(glues), "unlisted")
    assert precision < 0.8
    kept_apart, _ = score(gold, FakeModel(glues), "test")
    assert kept_apart > precision


@pytest.mark.slow
@pytest.mark.skipif(
    SERVER is None,
    reason="needs CONTEXTBIAS_TEST_SERVER, the address of an OpenAI-compatible server with a "
    "language model: http://127.0.0.1:8000/v1 (and, where it knows no strict schemas, "
    "CONTEXTBIAS_TEST_SERVER_STRUCTURED=json_object_schema)",
)
def test_a_real_language_model(gold: ModuleType, tmp_path: Path) -> None:
    """Whatever it answers: every term has a label, and a second run asks nothing."""
    options = {"model": "default", "base_url": SERVER, "concurrency": 1, "timeout": 600.0}
    if SERVER_OPTIONS:
        options["structured"] = SERVER_OPTIONS
    few = [pair for pair in gold.pairs() if pair.dimension == "items"][:12]
    model = ServedModel(options, where="a test")
    mapping = gold.by_model(few, model, Journal(tmp_path / "j"), groups="table")
    print("\n".join(gold.model_report(few, mapping)))
    terms = {normalise(term) for pair in few for term in (pair.first, pair.second)}
    assert mapping.labels["items"].keys() == terms
    number = len(Journal(tmp_path / "j"))
    assert number
    assert gold.by_model(few, model, Journal(tmp_path / "j"), groups="table") == mapping
    assert len(Journal(tmp_path / "j")) == number
