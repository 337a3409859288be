"""Seconds and memory of grouping 50,000 terms over three dimensions.

    python perf/cluster.py [--terms 50000] [--threshold 0.38]

The terms are made of words for garments, things and doings with up to three modifiers, so that they
lie as close together as those of a reader that describes what it sees. Encoding is timed apart.
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import product
from random import Random

from contextbias.canonicalise.cluster import average_link
from contextbias.canonicalise.encoder import MiniLM
from contextbias.canonicalise.grouping import Grouping, group_labels
from contextbias.canonicalise.terms import kept_apart, starting_groups, terms

MODIFIERS = [
    "white",
    "black",
    "gray",
    "red",
    "blue",
    "green",
    "yellow",
    "brown",
    "dark",
    "light",
    "bright",
    "old",
    "new",
    "worn",
    "clean",
    "dirty",
    "small",
    "large",
    "long",
    "short",
    "tall",
    "wide",
    "narrow",
    "heavy",
    "thin",
    "plain",
    "patterned",
    "striped",
    "checked",
    "floral",
    "plastic",
    "wooden",
    "metal",
    "steel",
    "glass",
    "leather",
    "cotton",
    "wool",
    "silk",
    "denim",
    "canvas",
    "rubber",
    "paper",
    "ceramic",
    "stainless",
    "folded",
    "open",
    "closed",
    "rolled",
    "stacked",
    "hanging",
    "portable",
    "electric",
    "digital",
    "vintage",
    "modern",
    "traditional",
    "formal",
    "casual",
    "professional",
    "protective",
    "reflective",
    "transparent",
    "round",
    "square",
    "rectangular",
    "curved",
    "broken",
    "polished",
]
PLACES = [
    "at desk",
    "in kitchen",
    "on street",
    "near window",
    "with both hands",
    "by the door",
    "in office",
    "outdoors",
    "on stage",
    "for a customer",
    "with a colleague",
    "in hospital",
    "at counter",
    "on roof",
    "in garden",
    "slowly",
]


def vocabulary(number: int) -> dict[str, list[str]]:
    """Distinct normalised terms of three dimensions, `number` in all."""
    luck = Random(1)
    things = sorted(terms().leading["things"])
    doings = sorted(terms().leading["activities"])
    made = {
        "clothing_garment": [
            f"{a} {b} {t}" for a, b, t in product(MODIFIERS, MODIFIERS[:40], things[:90])
        ],
        "items": [f"{a} {b} {t}" for a, b, t in product(MODIFIERS, MODIFIERS[30:], things)],
        "activities": [
            f"{d} {m} {t} {p}"
            for d, m, t, p in product(doings, MODIFIERS[:9], things[::40], PLACES)
        ],
    }
    share = number // 3
    return {name: luck.sample(sorted(set(some)), share) for name, some in made.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--terms", type=int, default=50_000)
    parser.add_argument("--threshold", type=float, default=0.38)
    given = parser.parse_args()
    words = {name: sorted(some) for name, some in vocabulary(given.terms).items()}
    encoder = MiniLM()
    began = time.perf_counter(), time.process_time()
    vectors = {name: encoder.encode(some) for name, some in words.items()}
    print(f"encoding: {_since(began)}")
    total = time.perf_counter(), time.process_time()
    for name, some in words.items():
        began = time.perf_counter(), time.process_time()
        start, rules = starting_groups(some, name), kept_apart(some, name)
        found = average_link(vectors[name], given.threshold, start=start, constraints=rules)
        print(f"{name}: {len(some):,} terms, {len(set(start.tolist())):,} after the table, "
              f"{len(set(found.tolist())):,} labels; {_since(began)}")  # fmt: skip
    print(f"grouping, all dimensions: {_since(total)}")
    began = time.perf_counter(), time.process_time()
    grouping = Grouping(method="table")
    group_labels({name: dict.fromkeys(some, 1) for name, some in words.items()}, grouping)
    print(f"a whole mapping by the table alone: {_since(began)}")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def _since(began: tuple[float, float]) -> str:
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    return f"{wall:.1f} s ({cpu:.1f} s of processor)"


if __name__ == "__main__":
    main()
