from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from contextbias import registry
from contextbias.errors import ConfigError, MissingPart
from contextbias.registry import GENERATORS, READERS, Entry, load_generator, load_reader, names


class Echo:
    """A backend of another package."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


@pytest.mark.parametrize("entry", [*GENERATORS.values(), *READERS.values()])
def test_every_built_in_backend_is_there(entry: Entry) -> None:
    module, _, attribute = entry.target.partition(":")
    assert callable(getattr(import_module(module), attribute))


def test_names_of_all_backends() -> None:
    assert names("generator") == [
        "command",
        "diffusers",
        "folder",
        "openai_images",
        "simulated",
    ]
    assert names("reader") == ["local", "openai", "simulated", "transformers"]


@pytest.mark.parametrize("load", [load_generator, load_reader])
def test_an_unknown_backend_names_the_nearest(load: Any) -> None:
    with pytest.raises(ConfigError, match=r"no \w+ backend 'simulatd'.*Did you mean 'simulated'"):
        load("simulatd", {})
    with pytest.raises(ConfigError, match="Known: "):
        load("zzz", {})


def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, "odd", Entry("no_such_library.reader:Reader", extra="odd"))
    with pytest.raises(MissingPart, match=r"needs no_such_library.*contextbias\[odd\]"):
        load_reader("odd", {})


def test_a_fault_of_our_own_is_not_called_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(READERS, "odd", Entry("contextbias.extract.odd:Reader", extra="odd"))
    with pytest.raises(ModuleNotFoundError):
        load_reader("odd", {})


def test_other_packages_add_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry_points(*, group: str, name: str | None = None) -> list[EntryPoint]:
        point = EntryPoint("echo", "tests.test_registry:Echo", group)
        return [point] if group == "contextbias.readers" and name in (None, "echo") else []

    monkeypatch.setattr(registry, "entry_points", entry_points)
    assert names("reader") == ["echo", "local", "openai", "simulated", "transformers"]
    assert load_reader("echo", {"a": 1}).options == {"a": 1}
    with pytest.raises(ConfigError):
        load_generator("echo", {})
