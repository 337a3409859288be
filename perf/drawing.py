"""How fast pictures are drawn: ``python perf/drawing.py [--count N]``.

Prints processor time an image with no background drawn before and with all, then images a second
for one and for two processes, encoding included, over the roles and places of the contact sheet.
Processor time is the least of three rounds.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from contact_sheet import cells_of

from contextbias.generate.drawing import draw, encode_png

Cell = tuple[dict[str, Any], str | None, str]


def draw_all(cells: list[Cell], first_seed: int) -> int:
    total = 0
    for index, (record, place, role) in enumerate(cells):
        image = draw(record, setting=place, role=role, seed=first_seed + index)
        total += len(encode_png(image))
    return total


def busy_time(cells: list[Cell]) -> float:
    start = time.process_time()
    draw_all(cells, 0)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=180)
    count = parser.parse_args().count
    cells = [c for seed in range(-(-count // 36)) for c in cells_of("roles", seed)][:count]
    cold = busy_time(cells)
    rounds = [busy_time(cells) for _ in range(3)]
    print(f"processor time: {1000 * cold / count:.0f} ms an image, backgrounds included")
    print(f"processor time: {1000 * min(rounds) / count:.0f} ms an image, backgrounds drawn before")
    start = time.perf_counter()
    size = draw_all(cells, 0)
    one = time.perf_counter() - start
    print(f"1 process: {count / one:.1f} images/s, {size / count / 1000:.0f} kB an image")
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(draw_all, [cells[:1]] * 2, [0, 0]))
        start = time.perf_counter()
        list(pool.map(draw_all, [cells[0::2], cells[1::2]], [0, 50_000]))
        two = time.perf_counter() - start
    print(f"2 processes: {count / two:.1f} images/s")


if __name__ == "__main__":
    main()
