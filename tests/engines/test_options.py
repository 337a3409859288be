"""Which engine a run gets: from study.toml, from the command line, and refused where wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from contextbias.cli.main import main
from contextbias.config import parse_config
from contextbias.engines import Engine
from contextbias.errors import ConfigError
from contextbias.pipeline import Options


def engine(text: str, chosen: str | None = None) -> Engine:
    return Options(engine=chosen).engine_of(parse_config(f"[run]\n{text}").run)


def test_the_engine_of_a_study() -> None:
    assert engine("") == Engine(kind="threads", devices=None, address="local")
    assert engine('devices = ["0", "2"]') == Engine(devices=("0", "2"))
    assert engine("devices = []") == Engine(devices=())
    assert engine('engine = "ray"\nray_address = "head.example:6379"') == Engine(
        kind="ray", address="head.example:6379"
    )


def test_the_command_line_comes_first() -> None:
    assert engine("", "ray").kind == "ray"
    assert engine('engine = "ray"', "threads").kind == "threads"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('engine = "dask"', "run.engine = 'dask'"),
        ('devices = "0"', r'is no list of GPUs; write \["0", "1"\], \[\], or "auto"'),
        ("devices = [0]", "is no list of GPUs"),
        ('devices = [""]', "run.devices"),
        ('ray_address = "head"', "run.ray_address = 'head'"),
        ('ray_address = "ray://head:10001"', "run.ray_address"),
        (
            'engine = "ray"\nray_address = "auto"\ndevices = ["0"]',
            "devices has no effect on a cluster that is running",
        ),
        ('images = ""', "run.images"),
        ('images = "memory://x"', "run.images: 'memory://x' is seen by one process alone"),
    ],
)
def test_a_wrong_key_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        engine(text)


def test_an_unknown_engine_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("run", "generate", "extract"):
        with pytest.raises(SystemExit) as end:
            main([command, str(tmp_path), "--engine", "dask"])
        assert end.value.code == 2
        assert "there is no engine 'dask'. Take threads or ray." in capsys.readouterr().err


def test_a_cluster_that_does_not_answer_is_said_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray")
    (tmp_path / "study.toml").write_text(
        '[bench]\nroles = ["nurse"]\n[[generators]]\nname = "one"\nbackend = "simulated"\n'
        '[run]\nray_address = "127.0.0.1:9"\n'
    )
    with pytest.raises(SystemExit) as end:
        main(["generate", str(tmp_path), "--engine", "ray"])
    assert end.value.code == 2
    assert "no Ray cluster answers at 127.0.0.1:9" in capsys.readouterr().err
    assert not (tmp_path / "images").exists()
