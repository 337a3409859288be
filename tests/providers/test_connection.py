from __future__ import annotations

import subprocess
import sys

import pytest

from contextbias.errors import ConfigError, MissingPart
from contextbias.providers import Connection, ConnectionOptions


def test_the_key_is_known_by_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-secret")
    connection = Connection.of(ConnectionOptions(api_key_env="A_KEY"))
    assert connection.key() == "sk-secret"
    assert "sk-secret" not in repr(connection)


def test_a_missing_key_says_which_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MissingPart, match="variable OPENAI_API_KEY is not set"):
        Connection().key()


@pytest.mark.parametrize(
    "url", ["http://localhost:8000/v1", "http://127.0.0.1:1234/v1", "http://[::1]:8000/v1"]
)
def test_a_server_on_this_machine_needs_none(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert Connection(url).key() == "none"


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://0.0.0.0:8000/v1", True), ("http://models.localhost/v1", True),
        ("http://localhost.example.org/v1", False), ("http://127.example.org/v1", False),
        ("http://192.168.1.7/v1", False), ("http://[2001:db8::1]/v1", False),
    ],
)  # fmt: skip
def test_what_is_on_this_machine(url: str, is_local: bool) -> None:
    assert Connection(url).is_local == is_local


def test_no_key_may_be_asked_for_elsewhere() -> None:
    assert Connection("https://models.example.org/v1", None).key() == "none"


def test_a_slash_at_the_end_does_not_matter() -> None:
    assert ConnectionOptions(base_url="http://x:1/v1/").base_url == "http://x:1/v1"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:8000", "not an address"),
        ("ftp://x/v1", "not an address"),
        ("https://me:secret@x.org/v1", "must not hold a key"),
    ],
)
def test_a_wrong_address(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ConnectionOptions.parse({"base_url": url}, backend="openai")


def test_the_client_is_loaded_only_when_it_is_used() -> None:
    code = "import contextbias.providers, sys; print('openai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingPart, match=r"contextbias\[openai\]"):
        Connection("http://127.0.0.1:1/v1").open()
