"""What a dry run says is what the run then does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contextbias import pipeline
from contextbias.cli.status import _lines
from contextbias.errors import ConfigError
from contextbias.pipeline import STAGES, Options, Preview, preview, stages_until
from contextbias.store import Study

STUDY = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse", "welder"]
[[generators]]
name = "one"
backend = "simulated"
options = { size = 64 }
[[generators]]
name = "two"
backend = "simulated"
options = { size = 64, model = "context-sensitive" }
[[readers]]
name = "a"
backend = "simulated"
[[readers]]
name = "b"
backend = "simulated"
options = { preset = "noiseless" }
[measure]
bootstrap = 0
[run]
workers = 1
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Study.create(tmp_path / "study", STUDY).close()
    return tmp_path / "study"


def shown(root: Path, stages: tuple[str, ...] = STAGES, **options: Any) -> dict[str, Preview]:
    with Study.open(root) as study:
        return {each.what: each for each in preview(study, stages, Options(**options))}


def done(root: Path, **options: Any) -> dict[str, int]:
    with Study.open(root, writing=True) as study:
        made = pipeline.run(study, ("bench", "generate", "extract"), Options(**options))
    return {each.stage: each.new for each in made}


SOME: list[dict[str, Any]] = [
    {"roles": frozenset({"nurse"}), "generators": frozenset({"two"})},
    {"limit": 5},
    {"generators": frozenset({"two"}), "limit": 20},
    {"roles": frozenset({"welder"})},
    {},
    {},
]


def test_a_run_makes_what_the_dry_run_said(root: Path) -> None:
    for options in SOME:
        said = shown(root, **options)
        before = {what: each.left for what, each in said.items()}
        made = done(root, **options)
        assert made["generate"] == before["images"]
        assert made["extract"] == before["readings"]
    assert {what: each.left for what, each in said.items()} == {
        "prompts": 0, "images": 0, "readings": 0,
    }  # fmt: skip
    assert said["images"] == Preview("images", 72, 72, 0)
    assert said["readings"] == Preview("readings", 144, 144, 0)


def test_only_the_named_roles_and_generators_are_counted(root: Path) -> None:
    said = shown(root, roles=frozenset({"nurse"}), generators=frozenset({"one"}))
    assert said["prompts"] == Preview("prompts", 18, 0, 18)
    assert said["images"] == Preview("images", 18, 0, 18)
    assert said["readings"] == Preview("readings", 36, 0, 36)


def test_a_run_that_stops_early_reads_nothing(root: Path) -> None:
    assert list(shown(root, stages_until("generate"))) == ["prompts", "images"]
    assert shown(root, ("bench", "extract"))["readings"].left == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roles": frozenset({"nurs"})}, "no role 'nurs'. Did you mean 'nurse'"),
        ({"generators": frozenset({"three"})}, "no generator 'three'"),
    ],
)
def test_it_refuses_what_the_run_refuses(options: dict[str, Any], message: str, root: Path) -> None:
    said = []
    for act in (shown, done):
        with pytest.raises(ConfigError, match=message) as caught:
            act(root, **options)
        said.append(str(caught.value))
    assert len(set(said)) == 1


def test_status_says_with_which_preset_the_study_was_measured(root: Path) -> None:
    done(root, roles=frozenset({"nurse"}))
    later = ("canonicalise", "measure", "report")
    with Study.open(root, writing=True) as study:
        pipeline.run(study, later, Options(preset="strict"))
        state = pipeline.status(study)
        assert (state["preset"], state["measured_with"], state["stale"]) == ("paper", "strict", [])
        assert "estimates   there, measured with --preset strict; study.toml says paper" in _lines(
            state
        )
        pipeline.run(study, later, Options())
        assert pipeline.status(study)["measured_with"] is None
    done(root)
    with Study.open(root) as study:
        state = pipeline.status(study)
        assert (state["measured_with"], state["stale"][0]) == (None, "attributes")


def test_it_changes_nothing(root: Path) -> None:
    shown(root)
    assert [path.name for path in root.iterdir() if path.is_dir()] == []
    with Study.open(root) as study:
        assert set(study.counts().values()) == {0}
