"""The labels of a study by a language model over HTTP, with a provider that fails now and then."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.canonicalise.test_llm_study import STUDY, mapping, run, stale_files
from tests.cli.test_bad_input import assert_refused, call
from tests.provider import FakeProvider, Fault, Question

from contextbias.errors import Incomplete, InputError
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.workload import workload
from contextbias.store import Study


def keeps(asked: Question) -> dict[str, object]:
    """Leaves the group that the last question is about as it is."""
    text = str(asked.messages[1]["content"]).split("Other groups")[0]
    terms = re.findall(r"^- (.+) \(\d+\)$", text, re.MULTILINE)
    return {"groups": [{"label": terms[0], "terms": terms, "same_as": []}]}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("read") / "study"
    Study.create(root, STUDY).close()
    run(root, "bench", "generate", "extract")
    return root


@pytest.fixture
def study(read: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from contextbias.canonicalise.cluster import Constraints

    monkeypatch.setattr(
        "contextbias.canonicalise.llm_join.kept_apart",
        lambda names, dimension: Constraints.none(len(names)),
    )
    return Path(shutil.copytree(read, tmp_path / "study"))


def with_model(root: Path, provider: FakeProvider, **options: object) -> None:
    given = {"model": "gpt-5-mini", "base_url": provider.base_url} | options
    text = ", ".join(f"{key} = {json.dumps(value)}" for key, value in given.items())
    old = re.search(r"^model = .+$", STUDY, re.MULTILINE)
    assert old is not None
    (root / "study.toml").write_text(STUDY.replace(old.group(), f"model = {{ {text} }}"))


def test_asked_once_through_faults(study: Path) -> None:
    def plan(number: int, asked: Question) -> Fault | None:
        kinds = ["500", "invalid_json", "429", "empty", "503"]
        return Fault(kinds[number], after=0.01) if number < len(kinds) else None

    with FakeProvider(key=None, answer=keeps, plan=plan).running() as provider:
        with_model(study, provider)
        said = run(study, "canonicalise", "measure")
        assert stale_files(study) == []
        billed = len(provider.billed())
        run(study, "canonicalise")
        shutil.rmtree(study / "derived")
        run(study, "canonicalise")
        assert len(provider.billed()) == billed
    lines = (study / "asked" / "labels.jsonl").read_text().splitlines()
    assert sum(bool(json.loads(line)["answer"]["model"]) for line in lines) == billed
    assert any("kept, 0 changed" in line for line in said)
    assert {d["model"] for d in mapping(study).decisions} == {"gpt-5-mini-2025-08-07"}
    assert sum(d["repaired"] for d in mapping(study).decisions) == 2


def test_a_quota_pauses_and_the_next_run_goes_on(study: Path) -> None:
    def plan(number: int, asked: Question) -> Fault | None:
        return Fault("quota") if number == 5 else None

    with FakeProvider(key=None, answer=keeps, plan=plan).running() as provider:
        with_model(study, provider, concurrency=1)
        with pytest.raises(Incomplete, match="insufficient_quota"):
            run(study, "canonicalise")
        assert len((study / "asked" / "labels.jsonl").read_text().splitlines()) == 5
        run(study, "canonicalise")
        assert len(provider.billed()) == len(mapping(study).decisions) == 12


def test_the_plan_asks_nothing(study: Path) -> None:
    with FakeProvider(key=None, answer=keeps).running() as provider:
        with_model(study, provider)
        done = call("labels", study, "--plan")
        assert done.returncode == 0, done.stderr
        # Of the twelve things of the simulated reader, the table keeps some apart from all others.
        assert re.match(r"\d+ groups to ask about, about [\d,]+ tokens sent", done.stdout)
        assert provider.log == []
        assert not (study / "asked").exists()


def test_a_mapping_edited_by_hand_is_refused_before_anything_is_asked(study: Path) -> None:
    with FakeProvider(key=None, answer=keeps).running() as provider:
        with_model(study, provider)
        run(study, "canonicalise")
        billed, path = len(provider.billed()), study / "derived" / "mapping.json"
        edited = path.read_text().replace('"scrubs": "scrubs"', '"scrubs": "overalls"')
        assert edited != path.read_text()
        path.write_text(edited)
        with_model(study, provider, seed=7)  # all groups would be asked about anew
        with pytest.raises(InputError, match="was changed by hand"):
            run(study, "canonicalise")
        assert path.read_text() == edited
        assert len(provider.billed()) == billed


def in_plan(root: Path) -> dict[str, Any]:
    """The section of the language model in `contextbias plan`."""
    with Study.open(root) as opened:
        sections = workload(Wanted(opened))["sections"]
    (found,) = [each for each in sections if each["stage"] == "canonicalise"]
    assert found["name"] == "gpt-5-mini"
    return found


def test_plan_has_what_the_language_model_takes(study: Path, tmp_path: Path) -> None:
    with FakeProvider(key=None, answer=keeps).running() as provider:
        with_model(study, provider)
        before = in_plan(study)
        assert provider.log == []
        assert before["wanted"] == before["pending"] == before["calls"] > 0
        assert before["tokens_in"] > 0
        assert before["money"] > 0
        run(study, "canonicalise")
        assert len(provider.billed()) == before["calls"]
        after = in_plan(study)
        assert (after["wanted"], after["done"]) == (before["wanted"], before["wanted"])
        assert (after["pending"], after["calls"]) == (0, 0)
        unread = tmp_path / "unread"
        Study.create(unread, (study / "study.toml").read_text()).close()
        coming = in_plan(unread)
    assert (coming["wanted"], coming["calls"]) == (0, None)
    assert "known after reading; a thousand take about" in coming["notes"][0]


def test_plan_says_that_terms_are_still_to_come(study: Path) -> None:
    with FakeProvider(key=None, answer=keeps).running() as provider:
        with_model(study, provider)
        text = (study / "study.toml").read_text()
        more = text.replace("images_per_prompt = 1", "images_per_prompt = 2")
        (study / "study.toml").write_text(more)
        note = in_plan(study)["notes"][0]
    assert note == "of 36 readings so far; 36 to come may bring further terms"


def test_plan_says_what_grouping_lacks(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeProvider(key=None, answer=keeps).running() as provider:
        with_model(study, provider)
        text = (study / "study.toml").read_text().replace('groups = "table"', 'groups = "cluster"')
        (study / "study.toml").write_text(text)
        monkeypatch.setenv("CONTEXTBIAS_CACHE", str(study / "none"))
        found = in_plan(study)
    assert found["pending"] == 0
    assert "models fetch" in found["notes"][0]


def test_a_plan_without_a_model_is_refused(study: Path) -> None:
    text = re.sub(r"mapping = .+\ngroups = .+\nmodel = .+\n", "", STUDY)
    (study / "study.toml").write_text(text)
    assert_refused(call("labels", study, "--plan"), "no language model", 'mapping = "model"')


def test_whatever_a_server_says_is_kept_once_and_the_offline_groups_stand(
    study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-a-key-of-nobody-123456"
    monkeypatch.setenv("OPENAI_API_KEY", key)

    def odd(asked: Question) -> str:
        kept = keeps(asked)
        kind = int(asked.key(), 16) % 6
        group = kept["groups"][0]  # type: ignore[index]
        if kind == 0:
            group["label"] = "\ud83d"
        if kind == 1:
            group["terms"] = [*group["terms"], float("nan")]
        if kind == 2:
            group["same_as"] = [None, key]
        texts = {3: "[" * 50_000, 4: '{"groups": {}}', 5: f"{key} \ud83d\x00"}
        return texts.get(kind, json.dumps(kept))

    def edit(body: dict[str, object]) -> None:
        body["model"], body["usage"] = {"a": 1}, {"prompt_tokens": "many"}

    def plan(number: int, asked: Question) -> Fault | None:
        return Fault("edited", edit=edit)

    with FakeProvider(key=key, answer=odd, plan=plan).running() as provider:
        with_model(study, provider, budget=5)
        said = run(study, "canonicalise")
        billed = len(provider.billed())
        again = run(study, "canonicalise")
        assert len(provider.billed()) == billed
    assert any("the offline group stands" in line for line in [*said, *again])
    assert {d["model"] for d in mapping(study).decisions if "model" in d} == {"gpt-5-mini"}
    journal = (study / "asked" / "labels.jsonl").read_text()
    assert key not in journal
    assert '"unknown":1' in journal


def test_a_budget_binds_where_usage_is_not_told(study: Path) -> None:
    def plan(number: int, asked: Question) -> Fault | None:
        return Fault("edited", edit=lambda body: body.pop("usage"))

    with FakeProvider(key=None, answer=keeps, plan=plan).running() as provider:
        with_model(study, provider, budget=0.02, concurrency=1)
        with pytest.raises(Incomplete, match="answers came without usage"):
            run(study, "canonicalise")
        billed = len(provider.billed())
        assert billed
        with pytest.raises(Incomplete, match="answers came without usage"):
            run(study, "canonicalise")
        assert len(provider.billed()) == billed
