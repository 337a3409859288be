"""The mapping from surface forms to canonical labels: saved, versioned, hashed, readable."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from contextbias.canonicalise.terms import no_answer
from contextbias.canonicalise.text import NORMALISATION, normalise
from contextbias.errors import InputError, nearest
from contextbias.ids import content_hash
from contextbias.schema import CODEBOOK_VERSION, DIMENSIONS
from contextbias.tables import OK, ReadingRow

OPEN = tuple(d.name for d in DIMENSIONS.values() if d.is_open)
"""Dimensions with an open vocabulary."""

RULES = {
    "form": "the label's own words, but for articles, number, spacing, spelling or colour",
    "table": "a synonym of the label in the packaged table",
    "cluster": "alike to the sentence encoder",
    "override": "by the study's own file",
    "missing": "in words what the label says: that there is no answer, or nothing of the kind",
    "model": "by a language model's decision, which stands among the mapping's decisions",
}
"""Why a surface form has a label that is not its own spelling."""


@dataclass(frozen=True)
class LabelMapping:
    """Which canonical label each surface form of an open-vocabulary dimension stands for.

    Closed vocabularies need none: their labels are canonical already.
    """

    labels: Mapping[str, Mapping[str, str]]
    """Dimension -> surface form -> canonical label."""
    method: str = "pass-through"
    """How the mapping was made."""
    normalisation: str = NORMALISATION
    """Version of the text normalisation."""
    codebook: str = CODEBOOK_VERSION
    """Codebook version."""
    rules: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Dimension -> surface form -> what gave it a label other than its own: a key of `RULES`."""
    made: Mapping[str, Any] = field(default_factory=dict)
    """What a grouped mapping was made with: ``tables``, ``threshold``, ``encoder``, ``overrides``
    (versions and hashes; null where not used), and ``terms``, a hash over the terms and all of
    these: with the same one, the same terms are grouped together."""
    decisions: Sequence[Mapping[str, Any]] = ()
    """With a language model, what it decided on each offline group; see llm.py."""

    def canonical(self, dimension: str, surface: str) -> str:
        """Look one label up.

        Args:
            dimension: Name of a dimension.
            surface: What the reader wrote.

        Returns:
            The canonical label. A surface form that the mapping lacks is normalised and looked up
            again; where that is not there either, it is its own label, or ``unknown`` or ``none``
            where it is a word for these.
        """
        if dimension not in OPEN:
            return surface
        known = self.labels.get(dimension, {})
        if surface in known:
            return known[surface]
        text = normalise(surface)
        return known.get(text) or no_answer(text) or text

    @cached_property
    def content_hash(self) -> str:
        """Hash of everything that decides a label; the same for the same mapping, always."""
        return content_hash(self._content())

    def to_json(self) -> bytes:
        """The file: indented JSON in UTF-8, sorted, the same bytes for the same mapping."""
        table = {"hash": self.content_hash, **self._content()}
        return (json.dumps(table, indent=2, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_json(cls, data: bytes, *, where: str = "the mapping") -> LabelMapping:
        """Read a mapping file; ``hash`` may be missing in one written by hand.

        Args:
            data: The file's bytes.
            where: What to call it in an error.

        Raises:
            InputError: Not such a file, or its content was changed under its hash.
        """
        table = _parse(data, where)
        found = cls(
            labels=_checked_labels(table.get("labels"), where),
            method=str(table.get("method", "by hand")),
            normalisation=str(table.get("normalisation", NORMALISATION)),
            codebook=str(table.get("codebook", CODEBOOK_VERSION)),
            rules=_checked_rules(table.get("rules", {}), where),
            made=_checked_made(table.get("made", {}), where),
            decisions=_checked_decisions(table.get("decisions", []), where),
        )
        if table.get("hash", found.content_hash) != found.content_hash:
            raise InputError(
                f"{where} was changed after it was written: its hash is {table['hash']!r}, its "
                f"content's {found.content_hash!r}",
                "take the line `hash` out if the change was meant",
            )
        return found

    def _content(self) -> dict[str, Any]:
        made = {"made": dict(sorted(self.made.items()))} if self.made else {}
        rules = {"rules": _sorted(self.rules)} if self.rules else {}
        decisions = {"decisions": list(self.decisions)} if self.decisions else {}
        return {
            "method": self.method,
            "normalisation": self.normalisation,
            "codebook": self.codebook,
            **made,
            "labels": _sorted(self.labels),
            **rules,
            **decisions,
        }


def _sorted(table: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    return {name: dict(sorted(table[name].items())) for name in sorted(table)}


def pass_through(readings: Iterable[ReadingRow]) -> LabelMapping:
    """The mapping that merges spellings only: every surface form seen, to its normalised text.

    What is a word for no answer becomes ``unknown`` or ``none`` here too.

    Args:
        readings: Any readings; those without a record add nothing. Their order does not matter.
    """
    surfaces: dict[str, set[str]] = defaultdict(set)
    for reading in readings:
        if reading.status == OK and reading.record is not None:
            for name in OPEN:
                surfaces[name].update(surfaces_of(name, reading.record))
    texts = {name: {text: normalise(text) for text in sorted(surfaces[name])} for name in OPEN}
    missing = {
        name: {text: "missing" for text, spelled in pairs.items() if no_answer(spelled)}
        for name, pairs in texts.items()
    }
    return LabelMapping(
        {
            name: {text: no_answer(spelled) or spelled for text, spelled in pairs.items()}
            for name, pairs in texts.items()
        },
        rules={name: rules for name, rules in missing.items() if rules},
    )


def canonical_planted(planted: pl.DataFrame, mapping: LabelMapping) -> pl.DataFrame:
    """Give planted labels the spelling under which readings are counted.

    Args:
        planted: Columns generator, role, condition, cohort, dimension, label, p.
        mapping: The mapping of the readings.

    Returns:
        The same columns. Labels that become one are taken as different events: their
        probabilities are combined as ``1 - prod(1 - p)``, so that the result stays in [0, 1].
    """
    pairs = planted.select("dimension", "label").unique(maintain_order=True)
    renamed = [mapping.canonical(name, label) for name, label in pairs.iter_rows()]
    keys = ["generator", "role", "condition", "cohort", "dimension", "label"]
    return (
        planted.join(pairs.with_columns(canonical=pl.Series(renamed, dtype=pl.String)),
                     on=["dimension", "label"], maintain_order="left")
        .with_columns(label="canonical")
        .group_by(keys, maintain_order=True)
        .agg(p=pl.when(pl.len() == 1).then(pl.col("p").first())
             .otherwise(1 - (1 - pl.col("p")).product()))
        .select(planted.columns)
    )  # fmt: skip


def surfaces_of(name: str, record: Mapping[str, Any]) -> Iterable[str]:
    """Every answer of a record to the open question `name`, as often as it is given."""
    dimension = DIMENSIONS[name]
    holders = record["people"] if dimension.per_person else [record[dimension.cohort]]
    for holder in holders:
        if isinstance(holder[name], list):
            yield from holder[name]


def _parse(data: bytes, where: str) -> dict[str, Any]:
    try:
        table = json.loads(data)
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}", "correct the file") from None
    if not isinstance(table, dict):
        raise InputError(f"{where} is a JSON {type(table).__name__}", "it has to be an object")
    return table


def _checked_labels(labels: object, where: str) -> dict[str, dict[str, str]]:
    if not isinstance(labels, dict):
        raise InputError(f"{where} has no object `labels`", "write dimension -> surface -> label")
    for name, pairs in labels.items():
        if name not in OPEN:
            hint = nearest(name, list(OPEN))
            raise InputError(
                f"{where} maps the dimension {name!r}, which has no open vocabulary",
                hint or f"only {', '.join(OPEN)} can be mapped",
            )
        if not isinstance(pairs, dict) or not all(isinstance(v, str) for v in pairs.values()):
            raise InputError(f"{where}: {name} is not surface -> label", "both have to be texts")
    return labels


def _checked_rules(rules: object, where: str) -> dict[str, dict[str, str]]:
    if not isinstance(rules, dict) or not all(isinstance(pairs, dict) for pairs in rules.values()):
        raise InputError(f"{where}: rules is not dimension -> surface -> rule", "leave rules out")
    return {
        str(name): {str(surface): str(rule) for surface, rule in pairs.items()}
        for name, pairs in rules.items()
    }


def _checked_made(made: object, where: str) -> dict[str, Any]:
    if not isinstance(made, dict):
        raise InputError(f"{where}: made is not an object", "leave made out")
    return {str(key): value for key, value in made.items()}


def _checked_decisions(decisions: object, where: str) -> tuple[dict[str, Any], ...]:
    if not isinstance(decisions, list) or not all(
        isinstance(each, dict)
        and each.get("dimension") in OPEN
        and isinstance(each.get("offline"), str)
        and isinstance(each.get("terms"), list)
        and all(isinstance(term, str) for term in each["terms"])
        for each in decisions
    ):
        raise InputError(
            f"{where}: decisions is no list of dimension, terms and offline", "leave decisions out"
        )
    return tuple(decisions)
