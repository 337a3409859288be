"""Speed and memory of the local reader.

    python perf/local_reader.py FOLDER [--workers 1 2]

Reads every picture of FOLDER with each number of threads, a reader in each thread as in a study,
and prints milliseconds a picture, the time of each step, and the largest memory used.
"""

from __future__ import annotations

import argparse
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from contextbias.extract.local import LocalReader
from contextbias.extract.local.networks import Networks
from contextbias.extract.local.people import read_people
from contextbias.extract.local.pictures import load_rgb
from contextbias.extract.local.pixels import read_pixels
from contextbias.extract.protocol import Picture


def time_readers(pictures: list[Picture], workers: int) -> float:
    """Seconds a picture with one reader in each of `workers` threads, loading left out."""
    local = threading.local()
    ready = threading.Barrier(workers + 1)

    def start() -> None:
        local.reader = LocalReader({})
        local.reader.read(pictures[0])

    def warm(_: int) -> None:
        ready.wait()

    with ThreadPoolExecutor(workers, initializer=start) as executor:
        waiting = [executor.submit(warm, index) for index in range(workers)]
        ready.wait()
        for future in waiting:
            future.result()
        began = time.perf_counter()
        list(executor.map(lambda picture: local.reader.read(picture), pictures))
        return (time.perf_counter() - began) / len(pictures)


def time_steps(pictures: list[Picture]) -> dict[str, float]:
    """Seconds of processor time a picture for decoding, pixels and people, in one thread."""
    networks = Networks()
    spent = dict.fromkeys(("decode", "pixels", "people"), 0.0)
    for picture in pictures:
        marks = [time.process_time()]
        rgb = load_rgb(picture.path)
        marks.append(time.process_time())
        read_pixels(rgb)
        marks.append(time.process_time())
        read_people(rgb, networks, smallest_face=44)
        marks.append(time.process_time())
        for name, before, after in zip(spent, marks, marks[1:], strict=False):
            spent[name] += (after - before) / len(pictures)
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    pictures = [
        Picture(image_id=path.stem, path=path.absolute())
        for path in sorted(given.folder.glob("*.jpg"))
    ]
    if not pictures:
        sys.exit(f"no .jpg in {given.folder}")
    for workers in given.workers:
        print(f"{workers} threads: {time_readers(pictures, workers) * 1e3:.0f} ms a picture")
    for name, seconds in time_steps(pictures).items():
        print(f"  {name}: {seconds * 1e3:.0f} ms of processor time")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"largest memory: {peak:.0f} MB")


if __name__ == "__main__":
    main()
