from __future__ import annotations

import subprocess
import sys

from contextbias import __version__


def test_the_package_can_be_run_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "contextbias", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout
    wrong = subprocess.run(
        [sys.executable, "-m", "contextbias", "status", "/nowhere"], capture_output=True, text=True
    )
    assert wrong.returncode == 2
    assert "contextbias: " in wrong.stderr
