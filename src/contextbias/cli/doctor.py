"""`contextbias doctor`: what is installed, what each reader can see, and what to do about gaps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

_PACKAGES = ("numpy", "polars", "scipy", "pydantic", "pillow", "resvg-py", "vl-convert-python")


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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what is installed, which readers work here, what each can see, and what is missing.

    Exit code 0: missing extras are not an error as long as you do not need them.
    """
    from dataclasses import asdict

    checks = [*_core(), *_readers()]
    if as_json:
        import json

        print(json.dumps([asdict(check) for check in checks], indent=2))
        return
    for check in checks:
        print(f"{'ok  ' if check.ok else '-   '}{check.what:<25}{check.found}")
        if check.fix:
            print(f"    {'':<25}-> {check.fix}")


def _core() -> Iterator[Check]:
    import platform
    import shutil
    import sys
    from importlib.metadata import PackageNotFoundError, version

    from contextbias import __version__

    yield Check(True, "contextbias", f"{__version__} in {sys.prefix}")
    yield Check(True, "python", f"{platform.python_version()} on {platform.platform()}")
    for package in (
        "numpy",
        "polars",
        "scipy",
        "pydantic",
        "pillow",
        "resvg-py",
        "vl-convert-python",
    ):
        try:
            yield Check(True, package, version(package))
        except PackageNotFoundError:
            yield Check(False, package, "missing", "pip install --force-reinstall contextbias")
    free = shutil.disk_usage(".").free / 1e9
    yield Check(free > 1, "disk", f"{free:,.1f} GB free here", "" if free > 1 else "make room")


def _readers() -> Iterator[Check]:
    from contextbias.errors import ContextBiasError
    from contextbias.registry import load_reader, names

    for name in names("reader"):
        try:
            readable = load_reader(name, {}).readable()
        except ContextBiasError as error:
            yield Check(False, f"reader {name}", error.problem, error.fix)
            continue
        yield Check(True, f"reader {name}", f"ready; reads {len(readable)} of {_all()} dimensions")
        for dimension, labels in readable.items():
            shown = "all labels" if labels is None else ", ".join(labels)
            yield Check(True, f"  {dimension}", shown)


def _all() -> int:
    from contextbias.schema import DIMENSIONS

    return len(DIMENSIONS)
