"""The Ray cluster that a run is in: whether there is one, joining or starting it, leaving it."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.engines.devices import VISIBLE, cores
from contextbias.engines.task import Engine
from contextbias.errors import ConfigError, InputError, MissingPart, pip_install
from contextbias.files import passing_folder

_STORE_BYTES = 100_000_000  # what goes through Ray is small: jobs and rows
_FOLDER = "cbias-ray-"
# Sockets lie in it, and their paths must be short: Ray takes 103 letters. What is called like it
# and is no running process's is removed, so that it must not be a name of anything else.
_KNOCK = 5.0  # seconds that the head of a cluster has to answer
_LEAST_PORT, _MOST_PORT = 1, 65_535


def check(engine: Engine) -> None:
    """See, without starting anything, whether a cluster can be had.

    Raises:
        MissingPart: Ray is not installed.
        ConfigError: The address makes no sense.
        InputError: Nothing answers there.
    """
    import importlib.util

    if importlib.util.find_spec("ray") is None:
        raise MissingPart("the engine ray needs ray, which is not installed",
                          pip_install("contextbias[ray]"))  # fmt: skip
    host, _, port = engine.address.rpartition(":")
    if not host:
        return
    if not _LEAST_PORT <= int(port) <= _MOST_PORT:
        raise ConfigError(f"run.ray_address has the port {port}", "write host:port, as of the head")
    try:
        socket.create_connection((host, int(port)), _KNOCK).close()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"no Ray cluster answers at {engine.address}: {reason}",
            "start its head with `ray start --head --port=6379`, or correct [run] ray_address",
        ) from None


def leave() -> None:
    """Leave the cluster that `join` joined, and stop the one that it started."""
    session = _joined.pop() if _joined else None
    if session is None:
        return
    import ray

    ray.shutdown()
    _put_away(session)


@dataclass(frozen=True, slots=True)
class _Session:
    folder: Path | None
    variables: tuple[str, ...]


_joined: list[_Session] = []
# None or one: a process is in one cluster at a time.


def _put_away(session: _Session) -> None:
    for name in session.variables:
        os.environ.pop(name, None)
    if session.folder is not None:
        shutil.rmtree(session.folder, ignore_errors=True)


def join(engine: Engine, workers: int) -> Any:
    """Ray, started or connected to; as it is where this process is in a cluster already.

    Args:
        engine: Where the cluster is.
        workers: Processors of one that is started; 0 for those of this machine.

    Raises:
        InputError: It cannot be started or joined.
        KeyboardInterrupt: On SIGTERM too.
    """
    variables = _set_variables(engine)
    import ray

    if ray.is_initialized():
        return ray
    folder = passing_folder(_FOLDER, "/tmp") if engine.address == "local" else None
    session = _Session(folder, variables)
    try:
        with _polite_stops():
            ray.init(**_as_asked(engine, workers, folder))
    except BaseException as error:
        ray.shutdown()
        _put_away(session)
        if isinstance(error, SystemExit):  # by Ray's handler, while it was there
            raise KeyboardInterrupt from None
        if isinstance(error, Exception):  # Ray has errors of all classes, the plainest among them
            raise _not_joined(engine, error, ray.__version__) from None
        raise
    _joined.append(session)
    return ray


def _not_joined(engine: Engine, error: Exception, version: str) -> InputError:
    if engine.address == "local":
        return InputError(
            f"no Ray cluster can be started here: {first_line(error)}",
            "see that the machine has processors and memory to spare, then run again; or leave out "
            "--engine ray",
        )
    return InputError(
        f"the Ray cluster {engine.address!r} cannot be joined: {first_line(error)}",
        f"see that it runs, that its Ray has this version ({version}), and that RAY_AUTH_MODE and "
        "RAY_AUTH_TOKEN are the same",
    )


def _as_asked(engine: Engine, workers: int, folder: Path | None) -> dict[str, Any]:
    """Arguments of ``ray.init``; without a `folder`, for a cluster that runs."""
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    if folder is None:
        return {"address": engine.address, **quiet}
    return {
        "address": "local",
        "num_cpus": workers or cores(),
        "num_gpus": None if engine.devices is None else len(engine.devices),
        "include_dashboard": False,
        "object_store_memory": _STORE_BYTES,
        "_temp_dir": str(folder),
        **quiet,
    }


@contextmanager
def _polite_stops() -> Iterator[None]:
    """Let a scheduler's SIGTERM be what it was: Ray puts a handler of its own in its place."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _set_variables(engine: Engine) -> tuple[str, ...]:
    """Set what Ray reads from the environment; returns which are new."""
    wanted = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "RAY_DEDUP_LOGS": "1",
    }
    if engine.address == "local":
        # Its ports listen on all interfaces: nobody without this token gets in.
        wanted["RAY_AUTH_MODE"] = "token"
        if "RAY_AUTH_TOKEN_PATH" not in os.environ:
            wanted["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        if engine.devices is not None:
            wanted[VISIBLE] = ",".join(engine.devices)
    new = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(new)
    return tuple(new)


def first_line(error: Exception) -> str:
    """What Ray says first about an error, which goes on for pages."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
