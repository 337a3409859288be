"""Which cores and GPUs a process may use, told without loading a library that holds on to them."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextbias.errors import ConfigError

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Names the GPUs that a process may use; empty for none."""

_ORDER = "CUDA_DEVICE_ORDER"
_SECONDS = 20.0  # nvidia-smi without a persistent driver takes some
_DRIVERS = ("/dev/kfd", "/dev/nvidiactl")
_LISTED = re.compile(r"^(?P<is_part>\s+)?(?:GPU|MIG)\b.*?\(UUID: (?P<uuid>[\w-]+)\)", re.MULTILINE)
_COUNT = "import torch; print(*range(torch.cuda.device_count()))"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, as nvidia-smi describes it."""

    index: str
    """Its number."""
    name: str
    """Product."""
    memory: str
    """In all, with its unit."""
    driver: str
    """Version of the driver."""

    @property
    def gigabytes(self) -> float:
        """Memory in all, in 10^9 bytes: ``143771 MiB`` is 150.8; what cannot be read is 0."""
        number, _, unit = self.memory.partition(" ")
        try:
            return float(number) * {"MiB": 2**20, "GiB": 2**30}.get(unit, 0) / 1e9
        except ValueError:
            return 0.0


def cores() -> int:
    """Processor cores that this process may use, 1 or more.

    A scheduler or a container may have given it a part of the machine's.
    """
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def gpus() -> list[Gpu]:
    """The GPUs that nvidia-smi lists; none where there is no such program."""
    fields = "index,name,memory.total,driver_version"
    told = _told("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader")
    rows = csv.reader(told.splitlines(), skipinitialspace=True)
    return [Gpu(*row) for row in rows if len(row) == 4]


def devices_here() -> list[str]:
    """Names of the GPUs that this process may use, as `VISIBLE` takes them.

    They are those of the variable where it is set. Else nvidia-smi is asked (of a GPU that is
    divided by MIG, each part is one), and where there is none but a driver, a short child that
    loads torch.
    """
    given = os.environ.get(VISIBLE)
    if given is not None:
        names = [name.strip() for name in given.split(",")]
        # As CUDA does it: what follows a number that is none does not count.
        wrong = next((at for at, name in enumerate(names) if name in ("", "-1")), len(names))
        return names[:wrong]
    if shutil.which("nvidia-smi"):
        return _listed(_told("nvidia-smi", "-L"))
    if any(Path(driver).exists() for driver in _DRIVERS):
        return _told(sys.executable, "-c", _COUNT).split()
    return []


def seats_of(chosen: Sequence[str] | None) -> list[Mapping[str, str]]:
    """The environment of each worker: one a GPU, or one in all where there is no GPU.

    Args:
        chosen: The GPUs of study.toml; None for all, empty for none.

    Raises:
        ConfigError: A GPU that is not there, or is named twice.
    """
    if chosen is not None and not chosen:
        return [{VISIBLE: ""}]
    there = devices_here()
    if chosen is None:
        return [_seat(name) for name in there] or [{}]
    twice = [name for name in chosen if chosen.count(name) > 1]
    if twice:
        raise ConfigError(
            f"run.devices names the GPU {twice[0]!r} twice", "one worker a GPU: name it once"
        )
    lacking = [name for name in chosen if name not in there]
    if lacking:
        known = f"there are {', '.join(there)}" if there else "no GPU was found"
        raise ConfigError(
            f"run.devices names a GPU {lacking[0]!r}, and {known}",
            'correct it; "auto" takes all that are there, and [] none',
        )
    return [_seat(name) for name in chosen]


def _seat(name: str) -> dict[str, str]:
    # Numbers as nvidia-smi has them, and not by speed, unless somebody has said otherwise.
    order = {} if {_ORDER, VISIBLE} & set(os.environ) else {_ORDER: "PCI_BUS_ID"}
    return {VISIBLE: name, **order}


def _listed(text: str) -> list[str]:
    """Numbers of GPUs from ``nvidia-smi -L``, and ids of the parts of those that are divided."""
    names: list[str] = []
    count = 0
    whole = True
    for found in _LISTED.finditer(text):
        if not found["is_part"]:
            names.append(str(count))
            count, whole = count + 1, True
            continue
        if whole:
            names.pop()
        names.append(found["uuid"])
        whole = False
    return names


def _told(*command: str) -> str:
    """What a program prints; nothing where it is not there, fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
