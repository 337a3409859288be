"""A study whose configuration or files change between runs: nothing is lost, or made twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from contextbias import pipeline
from contextbias.cli.main import main
from contextbias.errors import ConfigError, InputError
from contextbias.pipeline import STAGES, Done, Options, failures
from contextbias.progress import Silent
from contextbias.registry import READERS, Entry
from contextbias.store import Study

STUDY = """
[study]
seed = 3
images_per_prompt = 1
[bench]
roles = ["nurse"]
[[generators]]
name = "drawn"
backend = "simulated"
options = { size = 64 }
[[readers]]
name = "vlm"
backend = "simulated"
[measure]
bootstrap = 10
[run]
workers = 1
"""

DERIVED = ("attributes.parquet", "estimates.parquet", "planted.parquet", "mapping.json")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finished") / "study"
    Study.create(root, STUDY).close()
    run(root)
    return root


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "study"))


def run(root: Path, *stages: str, **options: object) -> dict[str, Done]:
    with Study.open(root, writing=True) as study:
        done = pipeline.run(study, stages or STAGES, Options(**options))  # type: ignore[arg-type]
    return {each.stage: each for each in done}


def change(root: Path, old: str, new: str) -> None:
    text = (root / "study.toml").read_text()
    assert old in text
    (root / "study.toml").write_text(text.replace(old, new))


def derived(root: Path) -> dict[str, bytes]:
    return {name: (root / "derived" / name).read_bytes() for name in DERIVED}


def news(done: dict[str, Done]) -> set[str]:
    return {stage for stage, each in done.items() if each.new}


@pytest.mark.parametrize(
    ("old", "new", "images", "readings"),
    [
        ("images_per_prompt = 1", "images_per_prompt = 2", 18, 18),
        ("seed = 3", "seed = 4", 18, 18),
        ("size = 64", "size = 65", 18, 18),
        ('roles = ["nurse"]', 'roles = ["nurse", "welder"]', 18, 18),
        ('name = "vlm"', 'name = "other"', 0, 18),
        ("bootstrap = 10", "bootstrap = 11", 0, 0),
    ],
)
def test_there_and_back_costs_only_what_was_missing(
    study: Path, finished: Path, old: str, new: str, images: int, readings: int
) -> None:
    change(study, old, new)
    there = run(study)
    assert (there["generate"].new, there["extract"].new) == (images, readings)
    assert not news(run(study))
    change(study, new, old)
    back = run(study)
    assert not news(back) & {"bench", "generate", "extract"}
    assert derived(study) == derived(finished)
    if readings:
        assert "18 more kept, and not counted" in back["extract"].note


@pytest.mark.parametrize("name", [*DERIVED, "../report/index.html"])
@pytest.mark.parametrize("how", ["deleted", "cut short"])
def test_derived_files_that_were_lost_are_made_again(
    study: Path, finished: Path, name: str, how: str
) -> None:
    path = study / "derived" / name
    if how == "deleted":
        path.unlink()
    elif name == "mapping.json":
        pytest.skip("a mapping that differs may be somebody's work; see the next test")
    else:
        path.write_bytes(path.read_bytes()[:100])
    run(study)
    assert derived(study) == derived(finished)
    assert (study / "report/index.html").exists()
    assert not news(run(study))


@pytest.mark.parametrize("change_to", ["garbage", "a label", "no hash"])
def test_a_mapping_that_was_edited_is_not_written_over(study: Path, change_to: str) -> None:
    path = study / "derived/mapping.json"
    table = json.loads(path.read_bytes())
    table.pop("hash")
    if change_to == "a label":
        table["labels"]["items"]["stethoscope"] = "tool"
    path.write_text("garbage" if change_to == "garbage" else json.dumps(table))
    edited = path.read_bytes()
    with pytest.raises(InputError, match=r"mapping\.json was changed by hand"):
        run(study)
    assert path.read_bytes() == edited


def test_edited_tables_are_not_measured_or_reported(study: Path) -> None:
    for name, stage in (("attributes", "measure"), ("estimates", "report")):
        path = study / "derived" / f"{name}.parquet"
        other = (
            study / "derived" / ("estimates.parquet" if stage == "measure" else "planted.parquet")
        )
        path.write_bytes(other.read_bytes())
        with pytest.raises(InputError, match=f"has {name} that were changed"):
            run(study, stage)


def test_images_whose_file_is_gone_wait_for_it(study: Path) -> None:
    (lost,) = sorted((study / "images").rglob("*.png"))[:1]
    change(study, 'name = "vlm"', 'name = "other"')
    lost.rename(study / "elsewhere.png")
    for _ in range(4):  # more often than an item is tried
        done = run(study)
        with Study.open(study) as opened:
            (failure,) = failures(opened)
        assert (failure.status, failure.reason[:16]) == ("not_read", "the file is gone")
    assert not news(done)
    (study / "elsewhere.png").rename(lost)
    assert run(study)["extract"].new == 1
    with Study.open(study) as opened:
        assert failures(opened) == []


def test_what_nothing_plants_any_more_is_not_compared_with(study: Path) -> None:
    change(
        study,
        'backend = "simulated"\noptions = { size = 64 }',
        'backend = "folder"\noptions = { source = "images" }',
    )
    done = run(study)
    assert done["generate"].new == 18
    assert not (study / "derived/planted.parquet").exists()
    with Study.open(study) as opened:
        estimates = opened.estimates()
    assert estimates is not None
    assert set(estimates["reader"]) == {"vlm"}


def test_nothing_to_read_says_what_to_do(tmp_path: Path) -> None:
    root = tmp_path / "new"
    Study.create(root, STUDY).close()
    with pytest.raises(InputError, match=r"no image to read\. Run it without --limit"):
        run(root, limit=0)
    with pytest.raises(InputError, match="with the generate stage"):
        run(root, "extract")


def test_unknown_names_are_refused(study: Path) -> None:
    with pytest.raises(ConfigError, match="no role 'nurce'"):
        run(study, roles=frozenset({"nurce"}))
    with pytest.raises(ConfigError, match="no generator 'drown'"):
        run(study, generators=frozenset({"drown"}))


def test_measuring_or_reporting_what_is_older_is_said(study: Path) -> None:
    said: list[str] = []

    class Listening(Silent):
        def say(self, message: str) -> None:
            said.append(message)

    run(study, "measure", progress=Listening())
    assert said == []
    change(study, "images_per_prompt = 1", "images_per_prompt = 2")
    run(study, "bench", "generate", "extract")
    run(study, "measure", progress=Listening())
    run(study, "report", progress=Listening())
    assert [line.split(" are older")[0] for line in said] == ["the attributes", "the estimates"]
    said.clear()
    run(study, preset="strict", progress=Listening())
    run(study, "report", progress=Listening())
    assert said == []
    change(study, "bootstrap = 10", "bootstrap = 11")
    run(study, "report", progress=Listening())
    assert [line.split(" are older")[0] for line in said] == ["the estimates"]


def test_the_report_names_only_readers_that_were_measured(study: Path) -> None:
    change(study, 'name = "vlm"', 'name = "other"')
    run(study)
    facts = (study / "report/index.html").read_text("utf-8").partition("The finding")[0]
    assert "other" in facts
    assert "vlm" not in facts


def test_status_says_what_is_of_earlier_settings(study: Path) -> None:
    def stale() -> list[str]:
        with Study.open(study) as opened:
            state = pipeline.status(opened)
        assert state["readings"]["wanted"] == state["images"]["wanted"]
        return list(state["stale"])

    assert stale() == []
    change(study, "bootstrap = 10", "bootstrap = 11")
    assert stale() == ["estimates", "report"]
    run(study, "measure")
    assert stale() == ["report"]
    change(study, "size = 64", "size = 65")
    assert stale() == ["attributes", "estimates", "report"]
    run(study)
    assert stale() == []


def test_images_are_made_where_their_reader_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine with GPUs, for one that reads."""
    root = tmp_path / "study"
    Study.create(root, STUDY).close()
    monkeypatch.setitem(READERS, "simulated", Entry("no_such_library:Reader", extra="odd"))
    for command, code in (("generate", 0), ("status", 0), ("extract", 2), ("run", 2)):
        with pytest.raises(SystemExit) as end:
            main([command, str(root)])
        assert (end.value.code or 0) == code, command
    printed = capsys.readouterr()
    assert "18 ok; 18 wanted" in printed.out
    assert "none yet; 18 wanted" in printed.out
    assert printed.err.count("needs no_such_library, which is not installed") == 2
    monkeypatch.undo()
    assert news(run(root)) >= {"extract", "report"}


def test_a_part_that_is_done_is_not_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "study"
    Study.create(root, STUDY).close()
    run(root, "bench", "generate", limit=2)
    for arguments, said in (
        (["--limit", "0"], "Nothing was left to do within --limit"),
        ([], "18 images, 16 new"),
        ([], "Everything was done already."),
    ):
        with pytest.raises(SystemExit):
            main(["generate", str(root), *arguments])
        assert said in capsys.readouterr().err
