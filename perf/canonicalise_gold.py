"""How well terms are grouped: pairwise precision and recall on the gold pairs, stage by stage.

    python perf/canonicalise_gold.py [--half train|test|unlisted] [--errors] [--thresholds]
    python perf/canonicalise_gold.py --model NAME [--server URL] [--option KEY=VALUE]

`gold_pairs.csv` has pairs of terms that are one concept or two, by hand. A hash of the pair says
which half it is in: the training half chose the threshold, the test half is reported. All terms of
both halves are grouped together, by dimension, as in a study; a pair counts as joined when its
terms have one label. `gold_unlisted.csv` has pairs of terms that the packaged table of synonyms
lacks, written after the table and before they were first grouped. Needs the weights of the encoder
(contextbias models fetch).

With ``--model`` a language model is put on top, as ``mapping = "model"`` does in a study: its own
precision and recall beside those of the offline groups that it was given, and how its decisions
ended. Any OpenAI-compatible server will do; answers are kept in ``--journal``, so that a second run
asks nothing. ``--groups table`` needs no encoder.
"""

from __future__ import annotations

import argparse
import csv
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from contextbias.canonicalise import CLUSTER, Grouping
from contextbias.canonicalise.cluster import Constraints, average_link
from contextbias.canonicalise.encoder import MiniLM, encoder_name
from contextbias.canonicalise.llm import model_labels, offline_labels
from contextbias.canonicalise.mapping import LabelMapping
from contextbias.canonicalise.terms import kept_apart, starting_groups
from contextbias.canonicalise.text import normalise
from contextbias.config import CanonicaliseSection
from contextbias.llm import Asker, Journal, Settler
from contextbias.llm.served import ServedModel
from contextbias.progress import Progress, for_terminal

GOLD = Path(__file__).parent / "gold_pairs.csv"
UNLISTED = Path(__file__).parent / "gold_unlisted.csv"
THRESHOLD = CanonicaliseSection().threshold
THRESHOLDS = [round(0.20 + 0.02 * step, 2) for step in range(16)]
Labels = Mapping[str, Mapping[str, object]]
Stage = tuple[str, bool, float | None]
"""What is known beforehand (spelling, form, synonyms), what is kept apart, and the threshold."""

STAGES: dict[str, Stage] = {
    "spelling": ("spelling", False, None),
    "form": ("form", False, None),
    "form, synonyms": ("synonyms", False, None),
    f"clusters at {THRESHOLD} alone": ("spelling", False, THRESHOLD),
    f"form, clusters at {THRESHOLD}": ("form", False, THRESHOLD),
    "  and things kept apart": ("form", True, THRESHOLD),
    "  and synonyms (all of it)": ("synonyms", True, THRESHOLD),
}
BY_THRESHOLD: dict[str, Stage] = {
    f"{name} at {threshold:.2f}": (known, apart, threshold)
    for name, known, apart in (
        ("clusters alone", "spelling", False),
        ("no synonyms", "form", True),
        ("all of it", "synonyms", True),
    )
    for threshold in THRESHOLDS
}


@dataclass(frozen=True)
class Pair:
    dimension: str
    first: str
    second: str
    same: bool
    is_listed: bool = True

    @property
    def half(self) -> str:
        if not self.is_listed:
            return "unlisted"
        key = "|".join((self.dimension, *sorted((self.first, self.second))))
        return "test" if sha256(key.encode()).digest()[0] % 2 else "train"


def pairs() -> list[Pair]:
    return [*_read(GOLD), *_read(UNLISTED)]


def _read(path: Path) -> list[Pair]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Pair(row["dimension"], row["first"], row["second"], row["same"] == "1", path == GOLD)
            for row in csv.DictReader(file)
        ]


class Vocabulary:
    """All terms of the gold pairs, by dimension, with their vectors."""

    def __init__(self, gold: list[Pair]) -> None:
        encoder = MiniLM()
        self.terms = {
            name: sorted({normalise(t) for p in gold if p.dimension == name
                          for t in (p.first, p.second)})
            for name in sorted({pair.dimension for pair in gold})
        }  # fmt: skip
        self.vectors = {name: encoder.encode(terms) for name, terms in self.terms.items()}

    def labels(self, stage: Stage) -> Labels:
        """Number of the group of each term."""
        return {name: self._grouped(name, *stage) for name in self.terms}

    def _grouped(
        self, name: str, known: str, apart: bool, threshold: float | None
    ) -> dict[str, int]:
        terms = self.terms[name]
        start = np.arange(len(terms))
        if known != "spelling":
            start = starting_groups(terms, name, synonyms=known == "synonyms")
        rules = kept_apart(terms, name) if apart else Constraints.none(len(terms))
        found = start
        if threshold is not None:
            found = average_link(self.vectors[name], threshold, start=start, constraints=rules)
        return dict(zip(terms, found.tolist(), strict=True))


def is_joined(pair: Pair, labels: Labels) -> bool:
    of = labels[pair.dimension]
    return of[normalise(pair.first)] == of[normalise(pair.second)]


def score(gold: Iterable[Pair], labels: Labels) -> tuple[int, int, int]:
    """Pairs joined rightly, joined, and to be joined."""
    right = joined = same = 0
    for pair in gold:
        together = is_joined(pair, labels)
        right += together and pair.same
        joined += together
        same += pair.same
    return right, joined, same


def share(x: int, n: int) -> str:
    if n == 0:
        return f"{'-':>21}"
    low, high = binomtest(x, n).proportion_ci(method="wilson")
    return f"{100 * x / n:6.1f} ({100 * low:4.1f}-{100 * high:5.1f})"


def row(name: str, gold: list[Pair], labels: Labels) -> str:
    right, joined, same = score(gold, labels)
    f1 = 2 * right / (joined + same)
    return f"{name:34}{share(right, joined)}  {share(right, same)}   {f1:.3f}"


def by_model(
    gold: Iterable[Pair],
    asker: Asker,
    journal: Journal,
    *,
    groups: str = CLUSTER,
    progress: Progress | None = None,
) -> LabelMapping:
    """The mapping of all terms of the gold pairs, each given once, with a language model on top."""
    terms: dict[str, dict[str, int]] = {}
    for pair in gold:
        for term in (pair.first, pair.second):
            terms.setdefault(pair.dimension, {})[normalise(term)] = 1
    grouping = Grouping(method=groups, threshold=THRESHOLD, encoder=encoder_name())
    settler = Settler(journal, asker.settings(), asker)
    encoder = MiniLM if groups == CLUSTER else None
    return model_labels(terms, grouping, settler, encoder, progress=progress)


def model_report(gold: list[Pair], mapping: LabelMapping) -> list[str]:
    """Lines: the offline groups, the model's, and how its decisions ended."""
    ended = Counter(str(decision["status"]) for decision in mapping.decisions)
    repaired = sum(bool(decision.get("repaired")) for decision in mapping.decisions)
    return [
        row("offline groups", gold, offline_labels(mapping).labels),
        row("the language model on top", gold, mapping.labels),
        *(
            row(f"  {name}", [pair for pair in gold if pair.dimension == name], mapping.labels)
            for name in sorted({pair.dimension for pair in gold})
        ),
        "groups: " + ", ".join(f"{number} {status}" for status, number in sorted(ended.items()))
        + f"; {repaired} after a repair",
    ]  # fmt: skip


def served(given: argparse.Namespace) -> ServedModel:
    options: dict[str, object] = {"model": given.model}
    if given.server:
        options["base_url"] = given.server
    for each in given.option:
        key, _, value = each.partition("=")
        try:
            options[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            options[key] = value
    return ServedModel(options, where="--option")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=("train", "test", "unlisted"), default="test")
    parser.add_argument("--errors", action="store_true", help="print the pairs that are wrong")
    parser.add_argument("--thresholds", action="store_true", help="a row for each threshold")
    parser.add_argument("--model", help="a language model, put on top of the offline groups")
    parser.add_argument("--server", help="its address, up to and with /v1")
    parser.add_argument("--option", action="append", default=[], help="KEY=VALUE of the model")
    parser.add_argument("--groups", choices=("cluster", "table"), default=CLUSTER)
    parser.add_argument("--journal", type=Path, help="where its answers are kept")
    given = parser.parse_args()
    every = pairs()
    gold = [pair for pair in every if pair.half == given.half]
    if given.model:
        journal = Journal(given.journal)
        mapping = by_model(
            every, served(given), journal, groups=given.groups, progress=for_terminal()
        )
        print(f"{len(gold)} pairs ({given.half}), {sum(p.same for p in gold)} of one concept")
        print(f"{'':34}{'precision, %':>19}  {'recall, %':>19}      F1")
        print("\n".join(model_report(gold, mapping)))
        return
    vocabulary = Vocabulary(every)
    stages = BY_THRESHOLD if given.thresholds else STAGES
    print(f"{len(gold)} pairs ({given.half}), {sum(p.same for p in gold)} of one concept")
    print(f"{'':34}{'precision, %':>19}  {'recall, %':>19}      F1")
    for name, stage in stages.items():
        print(row(name, gold, vocabulary.labels(stage)))
    labels = vocabulary.labels(("synonyms", True, THRESHOLD))
    for name in vocabulary.terms:
        part = [pair for pair in gold if pair.dimension == name]
        print(row(f"  {name} ({len(part)} pairs)", part, labels))
    if given.errors:
        for pair in gold:
            if is_joined(pair, labels) != pair.same:
                what = "not joined" if pair.same else "joined"
                print(f"{what}: {pair.dimension}: {pair.first} / {pair.second}")


if __name__ == "__main__":
    main()
