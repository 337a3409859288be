"""A whole study read by the openai reader, through the program: finished, interrupted, again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests import rows
from tests.extract.openai.truthful import TruthfulModel
from tests.provider import FakeProvider, Question
from tests.provider.faults import Fault

from contextbias import pipeline
from contextbias.errors import InputError
from contextbias.extract.vision.kept import opened
from contextbias.extract.work import reading_id
from contextbias.files import StudyFiles
from contextbias.pipeline import Options
from contextbias.pipeline.selection import Wanted
from contextbias.pipeline.workload import workload
from contextbias.progress import Silent
from contextbias.providers import Usage, sum_usage
from contextbias.schema import COHORTS, DIMENSIONS
from contextbias.store import Study

TEXT = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse", "welder"]
[[generators]]
name = "g"
backend = "simulated"
options = {{ size = 128 }}
[[readers]]
name = "seer"
backend = "openai"
options = {{ model = "gpt-5-mini", base_url = "{url}", size = 128, concurrency = {concurrency} }}
[[readers]]
name = "truth"
backend = "simulated"
options = {{ preset = "noiseless" }}
[measure]
bootstrap = 20
[run]
workers = 1
"""

IMAGES = 36
READ = ("run", "--until", "extract")


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[FakeProvider]:
    model = TruthfulModel(tmp_path / "s/images", 128)
    with FakeProvider(answer=model, latency=0.01).running() as running:
        yield running


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with its pictures, not read yet; copied for each test."""
    root = tmp_path_factory.mktemp("drawn") / "s"
    text = TEXT.format(url="http://127.0.0.1:9/v1", concurrency=1)
    with Study.create(root, text) as made:
        pipeline.run(made, ("bench", "generate"), Options())
    return root


@pytest.fixture
def study(tmp_path: Path, drawn: Path) -> Callable[..., Path]:
    """Makes the study of a test, whose reader asks a provider."""

    def make(provider: FakeProvider, concurrency: int = 8) -> Path:
        root = tmp_path / "s"
        shutil.copytree(drawn, root)
        text = TEXT.format(url=provider.base_url, concurrency=concurrency)
        (root / "study.toml").write_text(text)
        return root

    return make


def start(root: Path, *words: str, key: str = "test-key") -> subprocess.Popen[str]:
    code = "from contextbias.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *(words or ("run",)), str(root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OPENAI_API_KEY": key},
    )


def done(root: Path, *words: str, code: int = 0, key: str = "test-key") -> str:
    """Run the program to its end; what it wrote."""
    process = start(root, *words, key=key)
    out, errors = process.communicate(timeout=200)
    assert process.returncode == code, errors
    return out + errors


def readings(root: Path) -> list[Any]:
    with Study.open(root) as opened_study:
        return [row for row in opened_study.readings() if row.reader == "seer"]


def frame(root: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(root / f"derived/{name}.parquet")


def asked_twice(provider: FakeProvider) -> list[str]:
    counted = Counter(entry.key for entry in provider.billed())
    return [key for key, count in counted.items() if count > 1]


def test_a_study_is_complete_and_is_the_truth(
    study: Callable[..., Path], provider: FakeProvider
) -> None:
    root = study(provider)
    before = " ".join(done(root, "plan").split())
    assert f"until 20 readings are there; 8 workers; {IMAGES} calls" in before
    said = done(root)
    assert str(root / "report/index.html") in said
    assert len(provider.billed()) == IMAGES + 1  # the self-test
    assert asked_twice(provider) == []

    found = readings(root)
    assert {row.status for row in found} == {"ok"}
    assert len(found) == IMAGES
    used = sum(row.raw["usage"]["input"] for row in found)
    assert used == provider.total("input")
    assert all(row.raw["model"] == "gpt-5-mini-2025-08-07" for row in found)
    assert set(json.loads(opened(found[0].raw)[0])) == set(COHORTS)

    # Every answer is the truth's, so both readers have the same facts.
    facts = frame(root, "attributes").sort(pl.exclude("reader"))
    seer, truth = (facts.filter(reader=name).drop("reader") for name in ("seer", "truth"))
    assert seer.equals(truth)
    agreed = frame(root, "estimates").filter(estimand="agreement_raw")
    assert set(agreed["method"]) == {"reader seer", "reader truth"}
    assert set(agreed["dimension"]) == set(DIMENSIONS)
    assert set(agreed["point"].drop_nulls()) == {1.0}
    page = (root / "report/index.html").read_text()
    assert "seer" in page
    assert (root / "report/tables/agreement.csv").is_file()

    assert "Everything was done already" in done(root)
    assert len(provider.billed()) == IMAGES + 1
    assert "from 36 finished" not in done(root, "plan")  # nothing is left to be done


def test_interrupted_and_run_again_nothing_is_paid_twice(
    study: Callable[..., Path], provider: FakeProvider
) -> None:
    provider.latency = 0.1
    root = study(provider, concurrency=2)
    process = start(root, *READ)
    while len(provider.billed()) < 8:
        assert process.poll() is None
        time.sleep(0.02)
    # However late the signal is seen, there are requests left to be held back by then.
    provider.latency = 3.0
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "run the same command again" in errors
    billed = len(provider.billed())
    assert 8 <= billed < IMAGES
    assert len(readings(root)) == billed - 1  # what was paid for is kept
    provider.latency = 0.0
    done(root, *READ)
    assert len(readings(root)) == IMAGES
    assert asked_twice(provider) == []
    assert len(provider.billed()) == IMAGES + 1


def test_a_killed_run_loses_no_more_than_what_was_under_way(
    study: Callable[..., Path], provider: FakeProvider
) -> None:
    provider.latency = 0.1
    root = study(provider, concurrency=2)
    process = start(root, *READ)
    while len(readings(root)) < 4:
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)
    kept = len(readings(root))
    provider.latency = 0.0
    done(root, *READ)
    assert len(readings(root)) == IMAGES
    assert len(asked_twice(provider)) <= 2 + 17  # in flight, and answered but not yet kept
    assert len(provider.billed()) <= 1 + 2 * IMAGES - kept  # what was kept was not asked again


def test_a_study_through_faults_ends_in_a_row_for_every_picture(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    kinds = ["", "refuse", "off_schema", "429", "500", "truncate", "content_filter", "empty"]

    def plan(number: int, question: Question) -> Fault | None:
        if not question.pictures():
            return None
        return Fault(kinds[number % len(kinds)], after=0.0)

    model = TruthfulModel(tmp_path / "s/images", 128)
    with FakeProvider(answer=model, plan=plan).running() as provider:
        root = study(provider)
        done(root)
        found = readings(root)
        assert len(found) == IMAGES
        statuses = Counter(row.status for row in found)
        assert {"ok", "refused", "filtered", "truncated"} <= set(statuses)
        assert set(statuses) <= {"ok", "refused", "filtered", "truncated", "invalid"}
        used = sum(row.raw["usage"]["input"] for row in found)
        assert used == provider.total("input")
    missing = frame(root, "estimates").filter(estimand="missing", reader="seer")
    assert {"refused", "filtered"} <= set(missing["label"])


KEY = "sk-a-key-of-nobody-123456"


def odd_label(body: dict[str, Any]) -> None:
    """A good answer, one of whose open labels is half an emoji."""
    message = body["choices"][0]["message"]
    told = json.loads(message["content"])
    told["objects"]["items"] = ["lamp", "\ud83d"]
    message["content"] = json.dumps(told)


def odd_refusal(body: dict[str, Any]) -> None:
    body["choices"][0]["message"].update(content=None, refusal=f"no \ud83d, {KEY}\x00")


def odd_text(body: dict[str, Any]) -> None:
    body["choices"][0]["message"]["content"] = f"\ud83d {KEY}"


def odd_facts(body: dict[str, Any]) -> None:
    body["model"], body["usage"]["prompt_tokens"] = {"a": "\ud83d"}, float("inf")


def test_whatever_a_service_says_is_kept_and_not_paid_for_again(
    study: Callable[..., Path], tmp_path: Path
) -> None:
    edits = [odd_label, odd_refusal, odd_text, odd_facts]

    def plan(number: int, question: Question) -> Fault | None:
        # By picture, so that the second turn about it is as odd as the first.
        return (
            Fault("edited", edit=edits[int(question.key(), 16) % 4])
            if question.pictures()
            else None
        )

    model = TruthfulModel(tmp_path / "s/images", 128)
    with FakeProvider(answer=model, plan=plan, key=KEY).running() as provider:
        root = study(provider)
        said = done(root, key=KEY)
        billed = len(provider.billed())
        found = readings(root)
        assert {row.status for row in found} == {"ok", "refused", "invalid"}
        assert len(found) == IMAGES
        assert any("\\ud83d" in row.record["objects"]["items"] for row in found if row.record)
        assert any(row.raw["usage"].get("unknown") for row in found)
        assert "Everything was done already" in done(root, key=KEY)
        assert len(provider.billed()) == billed
    kept = said.encode() + repr([opened(row.raw) for row in found]).encode()
    kept += b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert KEY.encode() not in kept


def test_a_pause_says_why_and_goes_on(study: Callable[..., Path], tmp_path: Path) -> None:
    over = {"yes": True}

    def plan(number: int, _: Question) -> Fault | None:
        return Fault("quota") if over["yes"] and number >= 10 else None

    model = TruthfulModel(tmp_path / "s/images", 128)
    with FakeProvider(answer=model, plan=plan).running() as provider:
        root = study(provider, concurrency=1)
        said = done(root, *READ, code=3)
        assert "insufficient_quota" in said
        assert len(readings(root)) == 9
        over["yes"] = False
        done(root, *READ)
        assert len(readings(root)) == IMAGES
        assert asked_twice(provider) == []


def test_a_key_that_is_not_set_costs_nothing(study: Callable[..., Path], tmp_path: Path) -> None:
    root = study(FakeProvider())
    text = (root / "study.toml").read_text().replace("http://127.0.0.1:0", "https://api.invalid")
    (root / "study.toml").write_text(text)
    environment = {key: value for key, value in os.environ.items() if key != "OPENAI_API_KEY"}
    code = "from contextbias.cli.main import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", code, "extract", str(root)],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert found.returncode == 2
    assert "OPENAI_API_KEY" in found.stderr
    assert "Traceback" not in found.stderr
    assert readings(root) == []


@pytest.mark.parametrize("batch", [False, True])
def test_what_is_under_way_is_kept_when_one_reading_cannot_be(
    study: Callable[..., Path], provider: FakeProvider, batch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    provider.latency = 0.0 if batch else 0.05
    root = study(provider)
    keep, asked = StudyFiles.keep_receipt, Counter[str]()

    def full(self: StudyFiles, table: str, row: Any) -> Any:
        asked[table] += 1
        if asked[table] == 5:
            raise InputError("the disk is full", "make room")
        return keep(self, table, row)

    monkeypatch.setattr(StudyFiles, "keep_receipt", full)
    text = (root / "study.toml").read_text()
    text = text.replace("concurrency = 8", f"concurrency = 8, batch = {str(batch).lower()}")
    (root / "study.toml").write_text(
        text.replace("size = 128, conc", "size = 128, batch_poll = 0.01, conc")
    )
    with Study.open(root, writing=True) as opened_study, pytest.raises(InputError, match="full"):
        pipeline.run(opened_study, ("extract",), Options())
    billed = len(provider.billed())
    if not batch:
        assert len(readings(root)) == billed - 1  # the self-test
    with Study.open(root, writing=True) as opened_study:
        pipeline.run(opened_study, ("extract",), Options())
    assert len(readings(root)) == IMAGES
    assert asked_twice(provider) == []
    assert len(provider.billed()) == IMAGES + 1


class Told(Silent):
    """A progress that remembers the live line."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def note(self, words: str) -> None:
        self.words.append(words)


def charged(provider: FakeProvider) -> float:
    """By hand, from the server's own log, at 1,000, 100 and 5,000 USD a million tokens."""
    total = 0.0
    for entry in provider.billed():
        used = entry.usage or {}
        cached = used.get("cached", 0)
        total += (used["input"] - cached) * 0.001 + cached * 0.0001 + used["output"] * 0.005
    return total


def test_money_that_is_shown_stored_and_projected_is_what_the_server_charged(
    study: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cached tokens, second turns, answers that are none, and failures that cost nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    kinds = ["", "off_schema", "429", "500", "refuse", "", "truncate", "empty"]

    def plan(number: int, question: Question) -> Fault | None:
        return Fault(kinds[number % 8], after=0.0) if question.pictures() else None

    model = TruthfulModel(tmp_path / "s/images", 128)
    with FakeProvider(answer=model, plan=plan, cached=0.5).running() as provider:
        root = study(provider)
        prices = "price_input = 1000.0, price_cached = 100.0, price_output = 5000.0"
        text = (root / "study.toml").read_text()
        (root / "study.toml").write_text(
            text.replace("size = 128, conc", f"{prices}, size = 128, conc")
        )
        told = Told()
        with Study.open(root, writing=True) as opened_study:
            pipeline.run(opened_study, ("extract",), Options(limit=20, progress=told))
        assert f"{charged(provider):.2f} USD spent" in told.words[-1]
        assert any(len(row.raw["turns"]) == 2 for row in readings(root))
        assert provider.total("cached") > 0

        with Study.open(root) as opened_study:
            sections = workload(Wanted(opened_study))["sections"]
        (expected,) = [each for each in sections if each["name"] == "seer"]
        assert "from 20 finished readings" in expected["basis"]
        assert expected["money"] == pytest.approx(charged(provider) / 20 * (IMAGES - 20))

        with Study.open(root, writing=True) as opened_study:
            pipeline.run(opened_study, ("extract",), Options(progress=told))
            usage, batches = sum_usage(opened_study.usage("readings", "seer"))
        assert f"{charged(provider):.2f} USD spent" in told.words[-1]
        assert batches == Usage()
        by_kind = {name: provider.total(name) for name in ("input", "cached", "output")}
        assert {name: getattr(usage, name) for name in by_kind} == by_kind


def test_a_plan_is_not_made_from_errors(study: Callable[..., Path], tmp_path: Path) -> None:
    """They cost nothing and are asked for again: as readings they would lower the projection."""
    root = study(FakeProvider())
    with Study.open(root, writing=True) as opened_study:
        wanted = Wanted(opened_study)
        guessed = _money(wanted)
        for image_row in wanted.images():
            fingerprint = wanted.reader_rows["seer"].fingerprint
            key = reading_id("seer", fingerprint, image_row.image_id, image_row.sha256 or "")
            failed = rows.reading(
                reading_id=key, image_id=image_row.image_id, reader="seer", status="error",
                record=None, raw={"usage": {}},
            )  # fmt: skip
            opened_study.append_readings([failed])
    with Study.open(root) as opened_study:
        assert _money(Wanted(opened_study)) == guessed > 0


def _money(wanted: Wanted) -> float:
    (found,) = [each for each in workload(wanted)["sections"] if each["name"] == "seer"]
    return float(found["money"])
