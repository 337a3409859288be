"""Measure one file of attributes and say what it cost; perf/measure.py calls this.

python perf/measure_once.py ATTRIBUTES.parquet core|all [ESTIMATES.parquet]
"""

from __future__ import annotations

import sys
import tempfile
import time

START = time.perf_counter()

from pathlib import Path  # noqa: E402

from contextbias import parquet  # noqa: E402
from contextbias.measure import measure_lazily, stage  # noqa: E402


def main() -> None:
    """Print wall clock and processor seconds and the memory's high mark in MB."""
    sections = stage.CORE if sys.argv[2] == "core" else None
    lazy = parquet.scan(Path(sys.argv[1]))
    assert lazy is not None
    prompts = None
    if not sections:
        import study

        prompts = study.known_prompts()
    estimates = measure_lazily(lazy, sections=sections, prompts=prompts)
    data, rows = parquet.encoded(estimates)
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_bytes(data)
    else:
        with tempfile.TemporaryFile() as file:
            file.write(data)
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    high = int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1000
    print(f"{rows} rows, {len(data)} bytes", file=sys.stderr)
    print(f"{time.perf_counter() - START:.2f} {time.process_time():.2f} {high:.0f}")


if __name__ == "__main__":
    main()
