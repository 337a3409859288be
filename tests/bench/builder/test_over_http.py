"""`contextbias bench build` as a program, against a provider on loopback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bench.builder import answers
from tests.cli.test_bad_input import CODE, assert_refused, call
from tests.provider import FakeProvider, Fault, Question

from contextbias.bench.builder.review import COLUMNS

MODEL = "gpt-5-mini"
SERVER = os.environ.get("CONTEXTBIAS_TEST_SERVER")
STRUCTURED = os.environ.get("CONTEXTBIAS_TEST_SERVER_STRUCTURED")


def reply(asked: Question) -> dict[str, object]:
    return answers.answer_to(str(asked.messages[1]["content"]))


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(key=None, answer=reply).running() as running:
        yield running


@pytest.fixture
def roles(tmp_path: Path) -> Path:
    path = tmp_path / "roles.csv"
    path.write_text("role,about\nbeekeeper,keeps bees\nglassblower,\n")
    return path


def build(roles: Path, provider: FakeProvider | None, *more: object) -> object:
    server = ["--model", MODEL, "--option", f"base_url={provider.base_url}"] if provider else []
    return call("bench", "build", "--roles", roles, *server, *more)


def test_from_roles_to_a_bank_that_passes_its_check(roles: Path, provider: FakeProvider) -> None:
    plan = build(roles, provider, "--dry-run")
    assert "propose: 2 questions" in plan.stdout
    assert "judge: 2 questions" in plan.stdout
    assert provider.log == []
    done = build(roles, provider)
    assert done.returncode == 0, done.stderr
    assert "12 contexts recommended" in done.stderr
    lines = (roles.parent / "roles.answers.jsonl").read_text().splitlines()
    assert len(lines) == len(provider.billed()) == 4
    sent = sum(json.loads(line)["answer"]["usage"]["input"] for line in lines)
    assert sent == provider.total("input")

    again = build(roles, provider)
    assert again.returncode == 0
    assert len(provider.billed()) == 4
    assert "judge: 0 questions" in build(roles, provider, "--dry-run").stdout

    review, out = roles.parent / "roles.review.csv", roles.parent / "bees.toml"
    made = build(roles, None, "--review", review, "--out", out, "--reviewer", "A. Person")
    assert made.returncode == 0, made.stderr
    checked = call("prompts", "--bank", out, "--check")
    assert checked.returncode == 0, checked.stdout
    listed = call("prompts", "--bank", out).stdout
    assert "a photo of a beekeeper inspecting a honeycomb in an apiary" in listed
    assert "gpt-5-mini-2025-08-07" in out.read_text()


def test_a_bad_hour_of_the_server_pays_nothing_twice(roles: Path) -> None:
    def plan(number: int, asked: Question) -> Fault | None:
        kinds = ["500", "invalid_json", "429", "", "", "503", "empty"]
        return Fault(kinds[number], after=0.01) if number < len(kinds) else None

    with FakeProvider(key=None, answer=reply, plan=plan).running() as provider:
        done = build(roles, provider, "--option", "concurrency=1")
        assert done.returncode == 0, done.stderr
        lines = (roles.parent / "roles.answers.jsonl").read_text().splitlines()
        assert len(lines) == len(provider.billed())
        keys = [json.loads(line)["key"] for line in lines]
        assert len(set(keys)) == len(keys)
        build(roles, provider)
        assert len(provider.billed()) == len(lines)


def test_nonsense_from_the_server_is_told(roles: Path) -> None:
    def nonsense(asked: Question) -> dict[str, object] | str:
        text = str(asked.messages[1]["content"])
        return "{}" if re.match("Role: beekeeper", text) else reply(asked)

    with FakeProvider(key=None, answer=nonsense).running() as provider:
        done = build(roles, provider)
    assert done.returncode == 3
    assert "role 'beekeeper': no usable answer (invalid: the answer: activities is" in done.stderr
    assert "6 contexts recommended" in done.stderr
    review = roles.parent / "roles.review.csv"
    out = roles.parent / "b.toml"
    made = build(roles, None, "--review", review, "--out", out, "--reviewer", "A. Person")
    assert_refused(made, "'beekeeper' has 0 places", "Keep 3 or more")
    assert not out.exists()


def test_another_model_goes_on_where_the_first_had_nothing_to_say(roles: Path) -> None:
    review = roles.parent / "roles.review.csv"
    with FakeProvider(key=None, answer=lambda _: "{}").running() as provider:
        done = build(roles, provider)
    assert done.returncode == 3
    assert "no candidate came of 2 questions (role 'beekeeper': invalid" in done.stderr
    assert not review.exists()
    # As an earlier version left it, or a person who deleted every line.
    review.write_text(",".join(COLUMNS) + "\n")
    with FakeProvider(key=None, answer=reply).running() as provider:
        done = build(roles, provider, "--option", "seed=1")
    assert done.returncode == 0, done.stderr
    assert "12 contexts recommended" in done.stderr
    review.write_text(",".join(COLUMNS) + "\n")
    out = roles.parent / "b.toml"
    made = build(roles, None, "--review", review, "--out", out, "--reviewer", "A. Person")
    assert_refused(made, "has no candidate")


@pytest.mark.parametrize(("word", "file"), [("apiary", "answers.jsonl"), ("typical", "review.csv")])
def test_half_a_surrogate_pair_can_be_written(roles: Path, word: str, file: str) -> None:
    """In a proposal, which is refused for it, and in the evidence of a judgement."""

    def odd(asked: Question) -> str:
        # As JSON has it: the escape of half a pair, inside a text.
        return json.dumps(reply(asked)).replace(word, f"{word} \\ud83d")

    with FakeProvider(key=None, answer=odd).running() as provider:
        done = build(roles, provider)
    assert "Traceback" not in done.stderr
    assert done.returncode in (0, 3)
    assert "\\ud83d" in (roles.parent / f"roles.{file}").read_text()


def test_a_bank_with_faults_is_written_and_fails_the_check(
    roles: Path, provider: FakeProvider
) -> None:
    build(roles, provider)
    review, out = roles.parent / "roles.review.csv", roles.parent / "b.toml"
    review.write_text(review.read_text().replace("in a glass workshop", "in an glass workshop"))
    made = build(roles, None, "--review", review, "--out", out, "--reviewer", "A. Person")
    assert made.returncode == 1
    assert "article" in made.stdout
    assert out.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "neither --model nor --review"),
        (["--model", "m", "--out", "x.toml"], "go with --review"),
        (["--review", "r.csv", "--model", "m"], "asks no model"),
        (["--review", "r.csv"], "--out and --reviewer"),
        (["--review", "r.csv", "--out", "o.toml", "--reviewer", "P"], "cannot read r.csv"),
        (["--review", "r.csv", "--out", "roles.csv", "--reviewer", "P"], "ends in .toml"),
        (["--model", "m", "--option", "budget"], "no KEY=VALUE"),
        (["--model", "m", "--option", "buget=1"], "did you mean 'budget'"),
        (["--model", "m", "--option", "budget=1"], "price"),
        (["--model", "m", "--language", "xx"], "no language 'xx'"),
    ],
)
def test_wrong_calls(args: list[str], said: str, roles: Path) -> None:
    done = call("bench", "build", "--roles", roles, *args)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(
    SERVER is None,
    reason="needs CONTEXTBIAS_TEST_SERVER, the address of an OpenAI-compatible server with a "
    "language model (see tests/canonicalise/test_llm_gold.py)",
)
def test_a_real_language_model(roles: Path) -> None:
    """Whatever it answers: a review, or what was not usable is told; a second run asks nothing."""
    options = ["concurrency=1", f"base_url={SERVER}"]
    options += [f"structured={STRUCTURED}"] if STRUCTURED else []
    given = [part for option in options for part in ("--option", option)]
    command = ["bench", "build", "--roles", roles, "--model", "default", *given]
    roles.write_text("role\nbeekeeper\n")
    done = _patiently(command)
    assert done.returncode in (0, 3), done.stderr
    assert "candidates" in done.stderr
    review = (roles.parent / "roles.review.csv").read_bytes()
    journal = (roles.parent / "roles.answers.jsonl").read_bytes()
    assert journal
    again = _patiently(command)
    assert again.returncode == done.returncode
    assert (roles.parent / "roles.answers.jsonl").read_bytes() == journal
    assert (roles.parent / "roles.review.csv").read_bytes() == review


def _patiently(command: list[object]) -> subprocess.CompletedProcess[str]:
    """As `call`, for a model that may be slow."""
    program = [sys.executable, "-c", CODE, *map(str, command)]
    return subprocess.run(program, capture_output=True, text=True, timeout=900)
