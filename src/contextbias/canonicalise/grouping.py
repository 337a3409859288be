"""From a vocabulary to a mapping: form and synonyms, then clusters, and the study's overrides.

All terms of a dimension are grouped at once, sorted, so that neither the order of readings nor
which reader wrote a term makes a difference, and no term is dropped. In this order:

1. A term in the study's overrides has the label that these give it, and takes no further part; nor
   does a word for no answer, which is ``unknown`` or ``none``.
2. Terms of one form, and synonyms of the packaged table, are one group (terms.py).
3. With ``cluster``, groups are joined by average linkage of the encoder's vectors down to the
   threshold, never those that the table keeps apart (cluster.py), nor terms that the encoder
   cannot read.
4. A group is named by its most frequent term, the alphabetically first of equals; or by the term
   that an override gives as a label. A group never holds two of these.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from contextbias.canonicalise.cluster import Constraints, IntArray, average_link
from contextbias.canonicalise.encoder import Encoder
from contextbias.canonicalise.mapping import OPEN, LabelMapping, surfaces_of
from contextbias.canonicalise.terms import (
    form,
    kept_apart,
    no_answer,
    starting_groups,
    synonym_set,
    terms,
)
from contextbias.canonicalise.text import NORMALISATION, normalise
from contextbias.errors import InputError, nearest
from contextbias.ids import content_hash
from contextbias.schema import CODEBOOK_VERSION, EMPTY, UNKNOWN
from contextbias.schema.records import NOT_APPLICABLE
from contextbias.tables import OK, FrequencyRow, ReadingRow

TABLE, CLUSTER = "table", "cluster"
"""The two methods."""

Vocabulary = Mapping[str, Mapping[str, int]]
"""Dimension -> normalised term -> how often it was given."""

Overrides = Mapping[str, Mapping[str, str]]
"""Dimension -> normalised term -> normalised label."""

_NO_TERMS = frozenset({"", UNKNOWN, EMPTY, normalise(NOT_APPLICABLE)})


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """How terms are grouped."""

    method: str
    """`TABLE` or `CLUSTER`."""
    threshold: float = 0.38
    """With `CLUSTER`, the largest mean cosine distance of groups that are joined."""
    overrides: Overrides = field(default_factory=dict)
    """Labels by hand."""
    encoder: str | None = None
    """With `CLUSTER`, the name of the encoder."""

    def beforehand(self, dimension: str, terms: Iterable[str]) -> dict[str, str]:
        """Those of `terms` that take no part in grouping, with their labels."""
        given = self.overrides.get(dimension, {})
        by_hand = {*given, *given.values()}
        found: dict[str, str] = {}
        for term in terms:
            label = given.get(term) if term in by_hand else no_answer(term)
            if label is not None:
                found[term] = label
        return found

    def made(self, vocabulary: Vocabulary) -> dict[str, str | float | None]:
        """What a mapping says that it was made with; see `LabelMapping.made`."""
        clusters = self.method == CLUSTER
        given = {name: dict(pairs) for name, pairs in self.overrides.items() if pairs}
        made: dict[str, str | float | None] = {
            "tables": terms().version,
            "threshold": self.threshold if clusters else None,
            "encoder": self.encoder if clusters else None,
            "overrides": content_hash(given) if given else None,
        }
        listed = {name: sorted(vocabulary.get(name, {})) for name in OPEN}
        versions = [self.method, NORMALISATION, CODEBOOK_VERSION]
        return made | {"terms": content_hash([*versions, made, listed])}


def vocabulary_of(
    readings: Iterable[ReadingRow], frequencies: Iterable[FrequencyRow] = ()
) -> dict[str, dict[str, int]]:
    """Count the terms of every open dimension.

    Args:
        readings: Any readings; those without a record add nothing.
        frequencies: Answers that came counted.

    Returns:
        Dimension -> normalised term -> how often it was given; without words for no answer. The
        order of the rows does not matter.
    """
    surfaces: dict[str, Counter[str]] = {name: Counter() for name in OPEN}
    for reading in readings:
        if reading.status == OK and reading.record is not None:
            for name in OPEN:
                surfaces[name].update(surfaces_of(name, reading.record))
    for row in frequencies:
        for _, name, surface, count in row.counts:
            if name in surfaces:
                surfaces[name][surface] += count
    return {name: _by_term(counted) for name, counted in surfaces.items()}


def group_labels(
    vocabulary: Vocabulary,
    grouping: Grouping,
    encoder: Callable[[], Encoder] | None = None,
    *,
    known: LabelMapping | None = None,
) -> LabelMapping:
    """Make the mapping of a vocabulary.

    Args:
        vocabulary: Result of `vocabulary_of`.
        grouping: How.
        encoder: Makes the encoder, with `CLUSTER`; called only when it is needed.
        known: An earlier mapping; with the same terms and settings its groups are taken, and only
            their names are chosen anew.

    Returns:
        A mapping of every term: total, the same for the same counts, and its own fixed point.
    """
    made = grouping.made(vocabulary)
    taken = known if known is not None and _covers(known, made, vocabulary) else None
    labels: dict[str, dict[str, str]] = {}
    for name in OPEN:
        counts = vocabulary.get(name, {})
        fixed = frozenset(grouping.overrides.get(name, {}).values())
        settled = grouping.beforehand(name, counts)
        free = sorted(term for term in counts if term not in settled)
        if taken is not None:
            groups = _groups_of(free, taken.labels.get(name, {}))
        else:
            groups = _groups(free, name, grouping, fixed, encoder)
        labels[name] = _named(free, groups, counts, fixed) | settled
    return LabelMapping(
        labels, method=grouping.method, rules=_rules(labels, grouping.overrides), made=made
    )


def read_overrides(data: bytes, *, where: str) -> dict[str, dict[str, str]]:
    """Read a file of labels by hand: TOML, ``"term" = "label"`` in a table for each dimension.

    Args:
        data: The file's bytes.
        where: What to call it in an error.

    Returns:
        Dimension -> normalised term -> normalised label.

    Raises:
        InputError: Not such a file, a term has two labels, or a label is itself given another one.
    """
    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{where} is not TOML: {error}", "correct that line") from None
    found: dict[str, dict[str, str]] = {}
    for name, pairs in table.items():
        if name not in OPEN or not isinstance(pairs, dict):
            hint = nearest(name, list(OPEN)) or f"write a table [{OPEN[0]}] of terms and labels"
            raise InputError(f"{where}: {name!r} is no table of an open dimension", hint)
        found[name] = {}
        for term, label in pairs.items():
            _add(found[name], term, label, where)
        _check_chains(found[name], where)
    return found


def _covers(known: LabelMapping, made: Mapping[str, object], vocabulary: Vocabulary) -> bool:
    return known.made == made and all(
        vocabulary[name].keys() <= known.labels.get(name, {}).keys() for name in vocabulary
    )


def _add(pairs: dict[str, str], term: str, label: object, where: str) -> None:
    key = normalise(term)
    text = normalise(label) if isinstance(label, str) else ""
    if not key or not text:
        raise InputError(f"{where}: {term!r} has the label {label!r}", "both have to be texts")
    if pairs.setdefault(key, text) != text:
        raise InputError(f"{where}: {key!r} has two labels", "keep one of them")


def _check_chains(pairs: Mapping[str, str], where: str) -> None:
    for term, label in pairs.items():
        if pairs.get(label, label) != label:
            raise InputError(
                f"{where}: {term!r} is {label!r}, and {label!r} is {pairs[label]!r}",
                f"give {term!r} the label {pairs[label]!r}",
            )


def _by_term(counted: Counter[str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for surface, count in counted.items():
        found[normalise(surface)] += count
    return {term: found[term] for term in sorted(found) if term not in _NO_TERMS}


def _groups(
    names: Sequence[str],
    dimension: str,
    grouping: Grouping,
    labels: frozenset[str],
    encoder: Callable[[], Encoder] | None,
) -> IntArray:
    start = starting_groups(names, dimension)
    fixed = [place for place, name in enumerate(names) if name in labels]
    for earlier, later in combinations(fixed, 2):
        if start[earlier] == start[later]:
            start[later] = len(names) + later  # a group of its own
    if grouping.method == TABLE or not names:
        return start
    if encoder is None:
        raise ValueError("clustering needs an encoder")
    rules = Constraints(
        kept_apart(names, dimension).classes,
        np.array(list(combinations(fixed, 2)), np.int64).reshape(-1, 2),
    )
    vectors = encoder().encode(names)
    # A group of which one term is read keeps the others: it is not taken apart.
    read = np.flatnonzero(np.isin(start, start[vectors.any(axis=1)]))
    near = average_link(
        vectors[read], grouping.threshold, start=start[read], constraints=rules.of(read)
    )
    start[read] = read[near]
    return start


def _groups_of(names: Sequence[str], labels: Mapping[str, str]) -> IntArray:
    """The groups of an earlier mapping."""
    first: dict[str, int] = {}
    return np.array(
        [first.setdefault(labels[name], place) for place, name in enumerate(names)], np.int64
    )


def _named(
    names: Sequence[str], groups: IntArray, counts: Mapping[str, int], labels: frozenset[str]
) -> dict[str, str]:
    members: dict[int, list[str]] = {}
    for name, group in zip(names, groups.tolist(), strict=True):
        members.setdefault(group, []).append(name)
    found = {}
    for some in members.values():
        best = min(some, key=lambda name: (name not in labels, -counts[name], name))
        found.update(dict.fromkeys(some, best))
    return found


def _rules(labels: Mapping[str, Mapping[str, str]], given: Overrides) -> dict[str, dict[str, str]]:
    found = {
        name: {
            term: _rule(name, term, label, term in given.get(name, {}))
            for term, label in pairs.items()
            if term != label or term in given.get(name, {})
        }
        for name, pairs in labels.items()
    }
    return {name: rules for name, rules in found.items() if rules}


def _rule(dimension: str, term: str, label: str, is_given: bool) -> str:
    if is_given:
        return "override"
    if no_answer(term) == label:
        return "missing"
    if form(term, dimension) == form(label, dimension):
        return "form"
    number = synonym_set(term, dimension)
    is_synonym = number is not None and number == synonym_set(label, dimension)
    return "table" if is_synonym else "cluster"
