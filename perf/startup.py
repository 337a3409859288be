"""How long `contextbias --help` and `import contextbias` take. Aim: under 0.3 s.

Each call is a fresh interpreter; the first ones warm the file cache and are left out.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

CALLS = {
    "python -c pass": ["-c", "pass"],
    "import contextbias": ["-c", "import contextbias"],
    "contextbias --help": ["-c", "from contextbias.cli.main import main; main(['--help'])"],
    "contextbias run --help": ["-c", "from contextbias.cli.main import main; main(['run', '-h'])"],
}
AIM = 0.3
ROUNDS, WARM_UP = 15, 3


def main() -> None:
    """Print the median, the fastest and the slowest of each call, in seconds."""
    print(f"{'':24}{'median':>8}{'min':>8}{'max':>8}")
    for name, arguments in CALLS.items():
        seconds = sorted([_time(arguments) for _ in range(ROUNDS + WARM_UP)][WARM_UP:])
        median = statistics.median(seconds)
        note = "" if median < AIM else f"   over the aim of {AIM} s"
        print(f"{name:24}{median:8.3f}{seconds[0]:8.3f}{seconds[-1]:8.3f}{note}")


def _time(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
