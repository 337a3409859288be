from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from contextbias.cli.main import main
from contextbias.errors import pip_install
from contextbias.pipeline import needs

Doctor = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Runs the doctor: what was looked at -> its line."""

    def run(*arguments: str) -> dict[str, dict[str, Any]]:
        with pytest.raises(SystemExit) as end:
            main(["doctor", "--json", *arguments])
        assert not end.value.code
        return {line["what"].strip(): line for line in json.loads(capsys.readouterr().out)}

    return run


def study(folder: Path, text: str) -> str:
    folder.mkdir()
    (folder / "study.toml").write_text(text)
    return str(folder)


def test_the_machine_is_described(doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    found = doctor()
    assert found["numpy"]["ok"]
    assert found["extra ray"]["found"].startswith("fsspec ")
    assert found["reader simulated"]["found"].startswith("ready; reads 31 of 31")
    assert found["generator simulated"]["ok"]
    assert found["key OPENAI_API_KEY"] == {
        "ok": True, "what": "key OPENAI_API_KEY", "found": "set", "fix": "",
    }  # fmt: skip
    assert not found["key HF_TOKEN"]["ok"]
    assert "very-secret" not in json.dumps(found)


def test_a_token_file_is_a_token(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("hf_x")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert doctor()["key HF_TOKEN"]["found"] == "set"


def test_a_missing_extra_says_what_to_install(
    doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextbias.cli import doctor as module

    known = module._version
    monkeypatch.setattr(module, "_version", lambda name: None if name == "ray" else known(name))
    line = doctor()["extra ray"]
    assert not line["ok"]
    assert "ray missing" in line["found"]
    assert line["fix"] == pip_install("contextbias[ray]")


def test_gaps_are_shown_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["doctor"])
    text = capsys.readouterr().out
    assert "-   key HF_TOKEN              not set\n" in text
    assert "-> export HF_TOKEN=" in text


# ---- of a study

SIMULATED = """
[study]
images_per_prompt = 1
[bench]
roles = ["nurse"]
[[generators]]
name = "one"
backend = "simulated"
options = { size = 64 }
[[readers]]
name = "reader"
backend = "simulated"
"""


def test_a_study_that_has_all_it_needs(doctor: Doctor, tmp_path: Path) -> None:
    found = doctor(study(tmp_path / "s", SIMULATED))
    assert set(found) == {"generator one", "reader reader", "disk"}
    assert all(line["ok"] for line in found.values())
    assert re.match(r"\d+\.\d MB expected, [\d,]+\.\d GB free", found["disk"]["found"])


UNKNOWN, SMALL, DONE = (
    {"name": "g", "pending": 2, "size": None, "budget_words": None},
    {"name": "r", "pending": 2, "size": 34_000_000, "budget_words": None},
    {"name": "d", "pending": 0, "size": None, "budget_words": None},
)


@pytest.mark.parametrize(
    ("sections", "expected", "said"),
    [
        ([UNKNOWN], 0, "not known yet"),
        ([UNKNOWN, SMALL], 34e6, "34.0 MB expected (of g not known yet)"),
        ([SMALL, DONE], 34e6, "34.0 MB expected"),
        ([DONE], 0, "0.0 MB expected"),
    ],
)
def test_what_is_not_known_is_not_0(
    doctor: Doctor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sections: list[dict[str, Any]],
    expected: float,
    said: str,
) -> None:
    work = {"disk": {"expected": expected, "free": 2e12}, "sections": sections}
    monkeypatch.setattr(needs, "workload", lambda wanted: work)
    line = doctor(study(tmp_path / "s", SIMULATED))["disk"]
    assert (line["ok"], line["found"]) == (True, f"{said}, 2,000.0 GB free")


def test_what_backends_ask_for_is_shown(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextbias.generate.simulated import SimulatedGenerator

    def requirements(self: SimulatedGenerator) -> list[tuple[str, bool, str, str]]:
        licence = "accept it at https://example.org/licence"
        return [("licence", False, "not accepted", licence), ("weights", True, "in the cache", "x")]

    monkeypatch.setattr(SimulatedGenerator, "requirements", requirements, raising=False)
    found = doctor(study(tmp_path / "s", SIMULATED))
    assert found["licence"]["fix"] == "accept it at https://example.org/licence"
    assert not found["licence"]["ok"]
    assert found["weights"]["fix"] == ""


@pytest.mark.parametrize(
    ("change", "what", "found"),
    [
        ('size = 64, colour = "red"', "generator one", "unknown option 'colour'"),
    ],
)
def test_a_wrong_option_is_a_line_and_not_the_end(
    change: str, what: str, found: str, doctor: Doctor, tmp_path: Path
) -> None:
    lines = doctor(study(tmp_path / "s", SIMULATED.replace("size = 64", change)))
    assert found in lines[what]["found"]
    assert lines["reader reader"]["ok"]
    assert not lines["plan"]["ok"]


def test_the_engine_is_looked_at(doctor: Doctor, tmp_path: Path) -> None:
    ray = '[run]\nengine = "ray"\nray_address = "127.0.0.1:9"\nimages = "nosuch://bucket/x"\n'
    found = doctor(study(tmp_path / "s", SIMULATED + ray))
    assert "no Ray cluster answers at 127.0.0.1:9" in found["engine ray"]["found"]
    assert "nosuch" in found["place of images"]["found"]
    assert not found["place of images"]["ok"]
    found = doctor(study(tmp_path / "t", SIMULATED + '[run]\ndevices = ["7"]\n'))
    assert "a GPU '7'" in found["GPUs"]["found"]


def test_a_model_that_is_to_be_turned_off_is_said(doctor: Doctor, tmp_path: Path) -> None:
    labels = '[canonicalise]\nmapping = "model"\nmodel = { model = "gpt-5-mini" }\n'
    found = doctor(study(tmp_path / "s", SIMULATED + labels))
    assert "shut down on 2026-12-11" in found["labels: model"]["found"]
    assert "contextbias models fetch" in found["labels: encoder"]["fix"]


def test_too_small_a_disk_is_said(
    doctor: Doctor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        needs, "workload", lambda wanted: {"disk": {"expected": 2e12, "free": 1e12}, "sections": []}
    )
    line = doctor(study(tmp_path / "s", SIMULATED))["disk"]
    assert (line["ok"], line["fix"]) == (False, "make room")
    assert line["found"] == "2,000.0 GB expected, 1,000.0 GB free"


@pytest.fixture
def server() -> Iterator[str]:
    """A server that wants a key."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/v1/models"
            self.send_error(401)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    served = HTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}/v1"
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.mark.parametrize(
    ("variable", "value", "ok", "said"),
    [
        ("OPENAI_API_KEY", "", False, "OPENAI_API_KEY is not set: export OPENAI_API_KEY="),
        ("MY_KEY", "", False, "MY_KEY is not set: export MY_KEY="),
        ("", "", False, "name the key's variable in api_key_env"),
        ("MY_KEY", "some-key", True, "; MY_KEY is set"),
    ],
)
def test_a_server_that_wants_a_key_is_ok_where_one_is_set(
    variable: str,
    value: str,
    ok: bool,
    said: str,
    server: str,
    doctor: Doctor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if value:
        monkeypatch.setenv(variable, value)
    options = f'{{ model = "m", base_url = "{server}", api_key_env = "{variable}" }}'
    reader = f'name = "r"\nbackend = "openai"\noptions = {options}\n'
    text = SIMULATED.replace('name = "reader"\nbackend = "simulated"\n', reader)
    line = doctor(study(tmp_path / "s", text))[f"server {server}"]
    assert line["ok"] is ok
    assert "wants a key (status 401; none was sent)" in line["found"]
    assert said in line["found"] + line["fix"]


def test_the_key_of_the_model_that_labels_is_looked_for(doctor: Doctor, tmp_path: Path) -> None:
    labels = (
        '[canonicalise]\nmapping = "model"\ngroups = "table"\nmodel = { model = "gpt-5.4-mini" }\n'
    )
    line = doctor(study(tmp_path / "s", SIMULATED + labels))["key OPENAI_API_KEY"]
    assert (line["ok"], line["fix"]) == (False, "export OPENAI_API_KEY=…")


@pytest.mark.parametrize(
    ("budget", "ok", "said"),
    [("0.01", False, r"enough for about \d of 18$"), ("50", True, "enough$")],
)
def test_a_budget_that_is_too_small_is_said(
    budget: str, ok: bool, said: str, doctor: Doctor, tmp_path: Path
) -> None:
    reader = (
        'name = "r"\nbackend = "openai"\n'
        f'options = {{ model = "gpt-5.4-mini", budget = {budget} }}\n'
    )
    text = SIMULATED.replace('name = "reader"\nbackend = "simulated"\n', reader)
    line = doctor(study(tmp_path / "s", text))["budget of r"]
    assert line["ok"] is ok
    assert re.match(rf"budget {budget} USD: {said}", line["found"])


@pytest.mark.parametrize(
    ("url", "ok", "seen"),
    [
        ("http://127.0.0.1:9/v1", False, "Connection refused"),
        ("nonsense", False, "unknown url type"),
    ],
)
def test_servers_that_a_study_names_are_knocked_at(
    url: str, ok: bool, seen: str, doctor: Doctor, tmp_path: Path
) -> None:
    reader = f'backend = "openai"\noptions = {{ model = "m", base_url = "{url}" }}\n'
    text = SIMULATED.replace('name = "reader"\nbackend = "simulated"\n', f'name = "r"\n{reader}')
    line = doctor(study(tmp_path / "s", text))[f"server {url}"]
    assert line["ok"] is ok
    assert seen in line["found"]


def test_no_study_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["doctor", str(tmp_path)])
    assert end.value.code == 2
    assert "is not a study" in capsys.readouterr().err
