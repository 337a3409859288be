"""What a model on a GPU needs of this machine, for `plan` and `doctor`; loads no library for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from contextbias.engines.devices import gpus
from contextbias.errors import MissingPart
from contextbias.forecast import Requirement
from contextbias.weights.hub import Source

_NO_GPU = "full-size models take very long without one"


def require(modules: Sequence[str], who: str, fix: str) -> None:
    """Raise MissingPart for the first module that is not installed.

    Args:
        modules: By the names that are imported.
        who: What needs them, as in "the reader backend 'x'".
        fix: What to do.
    """
    for module in modules:
        if find_spec(module) is None:
            raise MissingPart(f"{who} needs {module}, which is not installed", fix)


def package(name: str, fix: str) -> Requirement:
    """Whether a package is installed, and in which version."""
    try:
        return name, True, version(name), fix
    except PackageNotFoundError:
        return name, False, "missing", fix


def is_for_gpu(device: str) -> bool:
    """Whether the option `device` of a backend asks for a GPU of NVIDIA, or leaves it open."""
    return device in ("auto", "cuda")


def gpu() -> Requirement:
    """Whether there is a GPU, and which."""
    here = gpus()
    names = ", ".join(f"{each.name} ({each.memory})" for each in here)
    fix = f"run it on a machine with one: {_NO_GPU}"
    return "GPU", bool(here), names or "none that nvidia-smi lists", fix


def gpu_memory(needed: float | None, fix: str) -> Iterator[Requirement]:
    """Whether a model fits into the largest GPU; nothing where one of the two is not known.

    Args:
        needed: Gigabytes.
        fix: What to do where it does not fit.
    """
    most = _most()
    if needed is not None and most is not None:
        yield (
            "GPU memory", needed <= most, f"{needed:.0f} GB expected, {most:.0f} GB there", fix,
        )  # fmt: skip


def memory_notes(needed: float | None, fix: str) -> Iterator[str]:
    """The same for the plan, in words; also where there is no GPU."""
    most = _most()
    told = [] if needed is None else [f"about {needed:.0f} GB of GPU memory expected"]
    if most is None:
        yield "; ".join([*told, f"no GPU is seen here: {_NO_GPU}"])
    elif needed is not None:
        yield f"{told[0]}, {most:.0f} GB there" + (f": {fix}" if needed > most else "")


def weights(source: Source, there: bool, *, holds: str, first: str) -> Requirement:
    """Whether a model's weights are here.

    Args:
        source: Of the model.
        there: Whether they are.
        holds: What a folder should hold, as in "pipeline".
        first: When they are fetched, as in "image is made".
    """
    found = "on this machine" if there else "not on this machine"
    at_once = f"fetched when the first {first}"
    fix = f"the folder holds no {holds}" if source.is_folder else at_once
    return f"weights {source.location}", there, found, fix


def pin(source: Source) -> Requirement:
    """Whether a repository's revision can mean only one state of its files."""
    found = source.revision if source.is_pinned else f"{source.revision!r} may change"
    return "revision", source.is_pinned, found, "write a commit"


def _most() -> float | None:
    return max((each.gigabytes for each in gpus()), default=None)
