"""Whatever is wrong with a call, the user gets one line, exit code 2 and no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

CODE = "from contextbias.cli.main import main; main()"
COUNTS = "generator,role,dimension,label,condition,count,n\n"
ROW = "SDXL,nurse,gender_presentation,female,CF,30,30\n"


def call(*args: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", CODE, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload]


def assert_refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("contextbias: ")
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    for word in words:
        assert word in result.stderr


def a_study(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(text)
    return folder


@pytest.mark.parametrize("command", ["run", "status", "generate", "extract", "measure", "report"])
def test_no_study(command: str, tmp_path: Path) -> None:
    assert_refused(call(command, tmp_path / "nothing"), "is not a study", "init")


def test_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    study = a_study(tmp_path, '[measure]\npresett = "paper"\n')
    assert_refused(call("run", study), "measure.presett", "preset")


def test_shapes_that_are_not_toml_tables(tmp_path: Path) -> None:
    study = a_study(tmp_path, '[generators]\nname = "a"\nbackend = "simulated"\n')
    assert_refused(call("run", study), "[[generators]]")
    study = a_study(tmp_path, '[bench]\nroles = "nurse"\n')
    assert_refused(call("run", study), "bench.roles", "'nurse'", '["nurse"]')


def test_broken_toml(tmp_path: Path) -> None:
    assert_refused(call("run", a_study(tmp_path, "[study\n")), "not valid TOML", "line 1")


def test_unknown_role_names_the_nearest(tmp_path: Path) -> None:
    text = '[bench]\nroles = ["nurze"]\n[[generators]]\nname = "a"\nbackend = "simulated"\n'
    assert_refused(call("run", a_study(tmp_path, text)), "'nurze'", "nurse")


def test_unknown_role_of_the_command(tmp_path: Path) -> None:
    text = '[bench]\nroles = ["nurse"]\n[[generators]]\nname = "a"\nbackend = "simulated"\n'
    assert_refused(call("run", a_study(tmp_path, text), "--roles", "nurce"), "'nurce'", "nurse")
    assert_refused(call("prompts", "--roles", "nurce"), "'nurce'", "nurse")


def test_unknown_backend_names_the_nearest(tmp_path: Path) -> None:
    text = '[[generators]]\nname = "a"\nbackend = "simulatd"\n'
    assert_refused(call("run", a_study(tmp_path, text)), "'simulatd'", "simulated")


def test_unknown_option_of_a_backend(tmp_path: Path) -> None:
    text = '[[generators]]\nname = "a"\nbackend = "simulated"\noptions = { sensitivty = 0.5 }\n'
    assert_refused(call("run", a_study(tmp_path, text)), "sensitivty", "sensitivity")


def test_unknown_stage(tmp_path: Path) -> None:
    assert_refused(call("run", a_study(tmp_path, ""), "--until", "mesure"), "'mesure'", "measure")


def test_init_does_not_overwrite(tmp_path: Path) -> None:
    assert call("init", tmp_path / "s").returncode == 0
    assert_refused(call("init", tmp_path / "s"), "a study", "already")


@pytest.mark.weights
def test_folder_without_a_readable_image(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    assert_refused(call("audit", tmp_path / "images", cwd=tmp_path), "images")
    (tmp_path / "images" / "a.png").write_bytes(b"not an image")
    assert_refused(call("audit", tmp_path / "images", cwd=tmp_path), "images")
    assert not (tmp_path / "images-audit").exists()


@pytest.mark.weights
def test_no_folder_of_images(tmp_path: Path) -> None:
    assert_refused(call("audit", tmp_path / "nowhere", cwd=tmp_path), "no such folder")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (COUNTS.replace(",n", ""), ("'n'",)),
        (COUNTS + ROW + ROW, ("line 3", "line 2")),
        (COUNTS + ROW.replace("30,30", "31,30"), ("line 2", "31", "30")),
        (COUNTS + ROW.replace("30,30", "1.5,30"), ("line 2", "1.5")),
        (COUNTS + ROW.replace("30,30", "-1,30"), ("line 2", "-1")),
        (COUNTS + ROW.replace("CF", "CX"), ("line 2", "CX", "CF")),
        ("", ()),
    ],
)
def test_counts(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text)
    assert_refused(call("consistency", path), *words)


def test_counts_that_are_not_there(tmp_path: Path) -> None:
    assert_refused(call("consistency", tmp_path / "no.csv"), "no.csv")


def test_missing_reader_is_said_before_anything_is_made(tmp_path: Path) -> None:
    text = '[bench]\nroles = ["nurse"]\n[[generators]]\nname = "a"\nbackend = "simulated"\n'
    study = a_study(tmp_path, text + '[[readers]]\nname = "r"\nbackend = "openia"\n')
    assert_refused(call("run", study), "'openia'")
    assert not (study / "images").exists()


@pytest.mark.parametrize("inside", ["", "images", "images/mine/CF"])
def test_a_study_is_not_audited(tmp_path: Path, inside: str) -> None:
    study = a_study(tmp_path / "my study", "")
    (study / "images/mine/CF").mkdir(parents=True)
    result = call("audit", study / inside, cwd=tmp_path)
    assert_refused(result, "the study 'my study'" if inside else "is a study")
    assert "`contextbias run 'my study'` gives its report" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["my study"]


@pytest.mark.weights
def test_one_broken_image_among_good_ones(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for shade in (60, 120, 200):
        slope = Image.linear_gradient("L").resize((96, 96))
        level = Image.new("L", (96, 96), shade)
        Image.merge("RGB", (slope, level, level)).save(folder / f"good-{shade}.png")
    whole = (folder / "good-60.png").read_bytes()
    (folder / "broken.png").write_bytes(whole[: len(whole) // 2])
    result = call("audit", folder, "--out", tmp_path / "audit")
    assert result.returncode == 3, result.stderr
    assert "broken.png" in result.stderr
    assert "corrupt" in result.stderr
    assert "Traceback" not in result.stderr
    assert (tmp_path / "audit" / "report" / "index.html").is_file()
    assert result.stdout.strip() == str(tmp_path / "audit" / "report" / "index.html")
