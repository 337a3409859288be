"""How the threads on the processor wait for each other."""

from __future__ import annotations

import os

_POLICY = "OMP_WAIT_POLICY"


def wait_asleep() -> None:
    """Let OpenMP's idle threads sleep, unless the environment has said otherwise.

    By itself each waits in a busy loop for the next piece of work. Where something else runs on the
    machine, and here that is the encoding of pictures at least, those loops take the cores of the
    threads that they wait for (perf/generate.py, ``--threads 2``). The same pixels come out.

    Call it before torch is loaded: OpenMP looks at the environment once.
    """
    os.environ.setdefault(_POLICY, "PASSIVE")
