"""The walls around the tests stand."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest


def test_home_and_working_directory_are_fresh(isolated: Path) -> None:
    assert Path.home() == isolated
    assert Path.cwd() == isolated / "work"
    assert not any(name.endswith(("_API_KEY", "_TOKEN")) for name in os.environ)


def test_only_this_machine_can_be_reached() -> None:
    with pytest.raises(RuntimeError, match="no network"):
        socket.create_connection(("192.0.2.1", 80), timeout=0.1)
    with pytest.raises(RuntimeError, match="no network"):
        socket.getaddrinfo("example.org", 80)
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
