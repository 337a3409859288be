"""Time and memory of measure: from attributes.parquet to estimates.parquet in a fresh process.

    python perf/measure.py                the core at the paper's scale; last line
                                          `measure_paper_scale SECONDS MB`
    python perf/measure.py --everything   all sections
    python perf/measure.py --yardstick    and plain NumPy on dense arrays beside it, with the ratio
    python perf/measure.py --growth       1, 10 and 100 times the images: perf/measure_growth.csv
                                          and .svg (makes 200 million facts; minutes, 1 GB of disk)

The core is Bias Intensity with its role bootstrap (B = 1,000), prevalence, range, CCS, chi-squared,
q, exact p, equivalence and verdicts. Seconds are those of the whole process, imports included;
MB are its high mark. Studies are made by perf/study.py and kept in --folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
STORED = HERE / "measure.json"
IMAGES_PER_PROMPT = 10
RISE = 1.3


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    seconds: float
    cpu: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.seconds:7.2f} s {self.cpu:7.2f} s CPU {self.megabytes:7.0f} MB"


def main() -> None:
    """Read the command line and do what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--everything", action="store_true")
    parser.add_argument("--yardstick", action="store_true")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--store", action="store_true", help="write the ratio to perf/measure.json")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=int, default=100, help="largest growth factor")
    parser.add_argument("--folder", type=Path,
                        default=Path(tempfile.gettempdir()) / "contextbias-perf")  # fmt: skip
    asked = parser.parse_args()
    if asked.growth:
        _growth(asked.folder, asked.most)
        return
    attributes = made(asked.folder, 1)
    sections = "all" if asked.everything else "core"
    ours = min(
        (measured(attributes, sections) for _ in range(asked.runs)), key=lambda cost: cost.seconds
    )
    if asked.yardstick or asked.store:
        _compare(ours, attributes, asked.runs, store=asked.store)
    print(f"{'everything' if asked.everything else 'core':12}{ours}   best of {asked.runs}")
    print(f"measure_paper_scale {ours.seconds:.2f} {ours.megabytes:.0f}")


def made(folder: Path, factor: int) -> Path:
    """The attributes of a study of `factor` times the paper's images, made where they are not."""
    import study

    path = folder / f"attributes-{factor}.parquet"
    if not path.is_file():
        print(f"making {path} ...", file=sys.stderr, flush=True)
        part = path.with_suffix(".part")
        study.write_attributes(part, IMAGES_PER_PROMPT * factor)
        part.rename(path)
    return path


def measured(attributes: Path, sections: str) -> Cost:
    """Measure in a process of its own."""
    return _cost([str(HERE / "measure_once.py"), str(attributes), sections])


def _cost(call: list[str]) -> Cost:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *call], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    _, cpu, megabytes = map(float, done.stdout.splitlines()[-1].split())
    return Cost(seconds, cpu, megabytes)


def _compare(ours: Cost, attributes: Path, runs: int, *, store: bool) -> None:
    """Print both, their ratio, and the stored ratio; a rise is said, and fails nothing."""
    costs = [_cost([str(HERE / "yardstick.py"), str(attributes)]) for _ in range(runs)]
    plain = min(costs, key=lambda cost: cost.seconds)
    ratio, stored = ours.cpu / plain.cpu, None
    print(f"{'yardstick':12}{plain}   best of {runs}")
    print(f"ratio of wall clock {ours.seconds / plain.seconds:.2f}, of CPU {ratio:.2f}")
    if store:
        STORED.write_text(json.dumps({"cpu_ratio": round(ratio, 3)}) + "\n", "utf-8")
    if STORED.is_file():
        stored = json.loads(STORED.read_text("utf-8"))["cpu_ratio"]
        print(f"stored ratio of CPU {stored:.2f}")
    if stored is not None and ratio > RISE * stored:
        print(f"WARNING: measure has become slower: {ratio / stored:.0%} of the stored ratio")


def _growth(folder: Path, most: int) -> None:
    import polars as pl

    rows = []
    for factor in (1, 10, 100):
        if factor > most:
            continue
        attributes = made(folder, factor)
        facts = int(pl.scan_parquet(attributes).select(pl.len()).collect().item())
        cost = measured(attributes, "core")
        print(f"{factor:4} x {facts:12,} facts {cost}", flush=True)
        rows.append((66_240 * factor, facts, cost.seconds, cost.cpu, cost.megabytes))
    columns = ["images", "facts", "seconds", "cpu_seconds", "megabytes"]
    table = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        pl.col(pl.Float64).round(1)
    )
    table.write_csv(HERE / "measure_growth.csv")
    (HERE / "measure_growth.svg").write_text(_plot(table.rows()), "utf-8")


def _plot(rows: list[tuple[float, ...]]) -> str:
    """Seconds and memory against facts, both axes logarithmic."""
    import vl_convert

    def layer(column: str, title: str) -> dict[str, object]:
        scale = {"type": "log"}
        return {
            "width": 260, "height": 220, "mark": {"type": "line", "point": True},
            "encoding": {
                "x": {"field": "facts", "type": "quantitative", "scale": scale},
                "y": {"field": column, "type": "quantitative", "scale": scale, "title": title},
            },
        }  # fmt: skip

    names = ("images", "facts", "seconds", "cpu", "megabytes")
    values = [dict(zip(names, row, strict=True)) for row in rows]
    parts = [layer("seconds", "seconds"), layer("megabytes", "MB, high mark")]
    return str(vl_convert.vegalite_to_svg({"data": {"values": values}, "hconcat": parts}))


if __name__ == "__main__":
    main()
