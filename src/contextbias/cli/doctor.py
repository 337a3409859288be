"""`contextbias doctor`: what is installed, what a study needs, and what to do about gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

_KEYS = {
    "OPENAI_API_KEY": "export OPENAI_API_KEY=… if you use OpenAI's models",
    "HF_TOKEN": "export HF_TOKEN=… (or `hf auth login`) if you use models behind a licence",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor."""

    ok: bool
    """False when something that a user may want does not work."""
    what: str
    """What was looked at."""
    found: str
    """What was seen."""
    fix: str = ""
    """What to do, when it is not ok."""


def doctor(
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="[STUDY]", help="Look at what this study needs.", show_default=False
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what is installed, which backends work here, what each can see, and what is missing.

    With a study: whether all that it needs is there, from licences and keys to room on the disk.
    Nothing is sent anywhere, but for one short request to each server that a study names.

    Exit code 0: something missing is not an error as long as you do not need it.
    """
    from dataclasses import asdict

    checks = list(_of_the_machine() if study is None else _of_the_study(study))
    if as_json:
        import json

        print(json.dumps([asdict(check) for check in checks], indent=2))
        return
    for check in checks:
        print(f"{'ok  ' if check.ok else '-   '}{check.what:<25} {check.found}")
        if check.fix:
            print(f"    {'':<25} -> {check.fix}")


def _of_the_machine() -> Iterator[Check]:
    yield from _core()
    yield from _extras()
    yield from _gpus()
    yield from _keys()
    yield from _generators()
    yield from _readers()


def _of_the_study(folder: Path) -> Iterator[Check]:
    from contextbias.pipeline.needs import needs
    from contextbias.store import Study

    with Study.open(folder) as study:
        for need in needs(study):
            yield Check(need.ok, need.what, need.found, need.fix)


def _core() -> Iterator[Check]:
    import platform
    import shutil
    import sys

    from contextbias import __version__
    from contextbias.errors import pip_install

    yield Check(True, "contextbias", f"{__version__} in {sys.prefix}")
    yield Check(True, "python", f"{platform.python_version()} on {platform.platform()}")
    for package in _packages().get("", []):
        found = _version(package)
        fix = "" if found else pip_install("--force-reinstall", "contextbias")
        yield Check(found is not None, package, found or "missing", fix)
    free = shutil.disk_usage(".").free / 1e9
    yield Check(free > 1, "disk", f"{free:,.1f} GB free here", "" if free > 1 else "make room")


def _extras() -> Iterator[Check]:
    from contextbias.errors import pip_install

    for extra, packages in _packages().items():
        if extra in ("", "all"):
            continue
        versions = {package: _version(package) for package in packages}
        there = all(versions.values())
        found = ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items())
        fix = "" if there else pip_install(f"contextbias[{extra}]")
        yield Check(there, f"extra {extra}", found, fix)


def _packages() -> Mapping[str, list[str]]:
    """Extra -> the packages that it brings, from what is installed; "" for those of the core."""
    import re
    from importlib.metadata import PackageNotFoundError, requires

    found: dict[str, list[str]] = {}
    try:
        lines = requires("contextbias") or []
    except PackageNotFoundError:
        return {}
    for line in lines:
        name = re.match(r"[\w.-]+", line)
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if name is not None:
            found.setdefault(extra[1] if extra else "", []).append(name[0])
    return found


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _gpus() -> Iterator[Check]:
    from contextbias.engines.devices import devices_here, gpus

    listed = gpus()
    for gpu in listed:
        yield Check(True, f"GPU {gpu.index}", f"{gpu.name}, {gpu.memory}, driver {gpu.driver}")
    if not listed:
        yield Check(False, "GPU", "none that nvidia-smi lists", "needed for large open models only")
    elif len(devices_here()) != len(listed):
        yield Check(True, "GPUs for this process", ", ".join(devices_here()) or "none")


def _keys() -> Iterator[Check]:
    """Whether keys are there; never what they are."""
    import os

    for name, fix in _KEYS.items():
        there = bool(os.environ.get(name, "").strip()) or (name == "HF_TOKEN" and _has_token_file())
        yield Check(there, f"key {name}", "set" if there else "not set", "" if there else fix)


def _has_token_file() -> bool:
    import os

    home = os.environ.get("HF_HOME", "~/.cache/huggingface")
    return Path(os.environ.get("HF_TOKEN_PATH", f"{home}/token")).expanduser().is_file()


def _generators() -> Iterator[Check]:
    from contextbias.registry import GENERATORS, names

    for name in names("generator"):
        entry = GENERATORS.get(name)
        yield _in_general(f"generator {name}", None if entry is None else entry.extra)


def _readers() -> Iterator[Check]:
    from contextbias.errors import ConfigError, ContextBiasError
    from contextbias.registry import READERS, load_reader, names
    from contextbias.schema import DIMENSIONS

    for name in names("reader"):
        what, entry = f"reader {name}", READERS.get(name)
        lacking = _in_general(what, None if entry is None else entry.extra)
        if not lacking.ok:
            yield lacking
            continue
        try:
            readable = load_reader(name, {}).readable()
        except ConfigError:  # it cannot be had without options
            yield lacking
            continue
        except ContextBiasError as error:
            yield Check(False, what, error.problem, error.fix)
            continue
        yield Check(True, what, f"ready; reads {len(readable)} of {len(DIMENSIONS)} dimensions")
        if len(readable) == len(DIMENSIONS) and not any(readable.values()):
            continue
        for dimension, labels in readable.items():
            shown = "all labels" if labels is None else ", ".join(labels)
            yield Check(True, f"  {dimension}", shown)


def _in_general(what: str, extra: str | None) -> Check:
    """Whether the packages of a backend are there; what else it needs depends on its options."""
    from contextbias.errors import pip_install

    packages = _packages().get(extra or "-", [])
    missing = [package for package in packages if _version(package) is None]
    if missing:
        return Check(
            False, what, f"{', '.join(missing)} missing", pip_install(f"contextbias[{extra}]")
        )
    return Check(True, what, "installed; `contextbias doctor STUDY` looks at its options")
