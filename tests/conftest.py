"""What every test gets: a home of its own, no network, and no variable of the machine.

Tests that need something the machine may lack ask for it by a fixture (`shared`, `chromium`) or a
marker (`weights`), and are skipped with the reason where it is missing. Where
``CONTEXTBIAS_REQUIRE_ALL`` is set, a missing browser or weight file is a failure.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

from contextbias.weights.cache import weights_folder

CHECKOUT = Path(__file__).resolve().parent.parent

_REQUIRE_ALL = bool(os.environ.get("CONTEXTBIAS_REQUIRE_ALL"))
_REAL_CACHE = weights_folder().absolute().parent
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ", "SSL_CERT_FILE")
_IMPORTED_AS_ROOT = (
    "encodings.idna",
    "json",
    "polars",
    "contextbias.cli.main",
    "contextbias.pipeline",
)
_LOOPBACK = ("127.", "::1", "localhost")

# Two shared cores make single examples slow now and then; no test here is about speed.
settings.register_profile("contextbias", deadline=None, max_examples=60, database=None)
settings.load_profile("contextbias")


class NetworkUsed(RuntimeError):
    """A test tried to leave the machine."""


@pytest.fixture(scope="session", autouse=True)
def rounding() -> Iterator[None]:
    """Programs that fixtures of a whole module start round as those that tests start.

    `isolated` comes later than such fixtures, and a variable that chooses the kernels of OpenBLAS
    changes last digits.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith(("OPENBLAS_", "MKL_", "OMP_"))]:
            patch.delenv(name)
        yield


@pytest.fixture(autouse=True)
def interruptible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is Python's own at the start of every test.

    A test that calls the program's `main` in this process leaves the handlers of the program, and a
    shell may have started the run without any.
    """
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def isolated(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Path:
    """A fresh home and working directory, and an environment with nothing of the machine's own."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith(("PYTEST_", "COVERAGE_", "COV_")):
            monkeypatch.delenv(name)
    for name, below in _home_variables().items():
        monkeypatch.setenv(name, str(home / below))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    if request.node.get_closest_marker("weights"):
        monkeypatch.setenv("CONTEXTBIAS_CACHE", str(_REAL_CACHE))
        _require_weights()
    work = home / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return home


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only this machine can be reached; anything else is an error that names the address."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    lookup = socket.getaddrinfo

    def guarded(self: socket.socket, address: Any) -> None:
        _check_local(self.family, address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: Any) -> int:
        _check_local(self.family, address)
        return connect_ex(self, address)

    def guarded_lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None:
            _check_local(socket.AF_INET, (host,))
        return lookup(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_lookup)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder ``shared`` beside the checkout: real pictures, the paper's tables."""
    folder = CHECKOUT.parent / "shared"
    if not (folder / "data").is_dir():
        pytest.skip(f"needs ../shared beside the checkout; {folder} is not there")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium that Playwright can drive."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return _missing("needs a Chromium on the path, for example from the package `chromium`")


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user of the machine can reach; a test may take its permissions away."""
    with tempfile.TemporaryDirectory(prefix="contextbias-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def as_nobody() -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Run a Python script in a child without the rights of root.

    What the script needs is imported first: the interpreter may lie where nobody else can read.
    """

    def run(script: str) -> subprocess.CompletedProcess[str]:
        preamble = f"import os, {', '.join(_IMPORTED_AS_ROOT)}\n"
        drop = "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        if os.geteuid() != 0:
            drop = ""
        return subprocess.run(
            [sys.executable, "-c", preamble + drop + script],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )

    return run


def _home_variables() -> dict[str, str]:
    return {
        "HOME": "",
        "USERPROFILE": "",
        "XDG_CACHE_HOME": ".cache",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "CONTEXTBIAS_CACHE": ".cache/contextbias",
    }


def _check_local(family: int, address: Any) -> None:
    if family == socket.AF_UNIX:
        return
    host = address[0].decode() if isinstance(address[0], bytes) else str(address[0])
    if not host.startswith(_LOOPBACK):
        raise NetworkUsed(f"tests use no network, but this one wants {address!r}")


def _require_weights() -> None:
    from contextbias.weights.cache import states

    lacking = [entry.weight.name for entry in states() if entry.state != "present"]
    if lacking:
        _missing(f"needs the weights {', '.join(lacking)}: run `contextbias models fetch`")


def _missing(reason: str) -> NoReturn:
    if _REQUIRE_ALL:
        pytest.fail(reason)
    pytest.skip(reason)
