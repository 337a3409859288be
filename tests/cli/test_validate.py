"""``contextbias validate`` as a user calls it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.small_study import one_role

from contextbias import pipeline
from contextbias.cli.main import main
from contextbias.pipeline import STAGES, Options
from contextbias.store import Study


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Study.create(tmp_path / "s", one_role()).close()
    with Study.open(tmp_path / "s", writing=True) as study:
        pipeline.run(study, STAGES[:-2], Options())
    return tmp_path / "s"


def call(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["validate", *args])
    return int(ended.value.code or 0)


def test_dry_then_for_good_then_nothing_to_do(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    size = ["--prompts", "6", "--images", "2"]
    assert call(str(root), *size, "--dry-run") == 0
    out, _ = capfd.readouterr()
    assert "6 prompts, such as\n  a photo of a " in out
    assert "nothing was done" in out
    assert not (root / "validation").exists()
    assert call(str(root), *size) == 0
    out, err = capfd.readouterr()
    assert "6 prompts that name a label" in out
    assert "read as named" in out
    assert "drawn as named" in out
    assert out.endswith(f"{root / 'report/index.html'}\n")
    assert "12 new" in err
    assert call(str(root)) == 0
    assert "nothing to do" in capfd.readouterr().err


def test_more_than_the_labels_give_is_said(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(str(root), "--prompts", "100000", "--dry-run") == 0
    out, _ = capfd.readouterr()
    assert re.match(
        r"[\d,]+ prompts \(100,000 were asked for; the study's labels give no more\)", out
    )
    assert call(str(root), "--prompts", "100000", "--images", "1", "--limit", "1") == 0
    assert "100,000 known prompts were asked for; the labels that this" in capfd.readouterr().err


def test_json_of_a_forecast(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(str(root), "--context-free", "--dry-run", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert 2 <= found["prompts"] <= found["asked"] == 220
    assert found["work"]["sections"][0]["pending"] == 10 * found["prompts"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--json"], "--dry-run"),
        (["--prompts", "1"], "--prompts"),
        (["--images", "0"], "--images"),
        (["--generators", "h"], "no generator 'h'"),
        (["--engine", "slow"], "no engine"),
    ],
)
def test_bad_calls(
    root: Path, args: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert call(str(root), *args) == 2
    assert said in capfd.readouterr().err
