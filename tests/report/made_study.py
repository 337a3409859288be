"""A small made-up study for the report: pictures, attributes and estimates that agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image
from tests.report.made_sections import section_rows

from contextbias.report import ReportInputs, RunFacts
from contextbias.tables import (
    CONDITIONS,
    AttributeRow,
    EstimateRow,
    GeneratorRow,
    ImageRow,
    Prompt,
    ReaderRow,
)

_TYPES = {
    "str": pl.String,
    "str | None": pl.String,
    "int": pl.Int64,
    "int | None": pl.Int64,
    "float | None": pl.Float64,
    "bool": pl.Boolean,
}
DIMENSIONS = {
    "gender_presentation": ("people", ("female", "male")),
    "clothing_garment": ("people", ("coat", "apron", "jacket")),
    "items": ("objects", ("whisk", "clipboard")),
    "color_temperature": ("scene", ("warm", "cool")),
    "framing": ("camera", ("tight", "wide")),
}
COHORTS = ("scene", "camera", "objects", "people")
CONTRASTS = (("CA-U", "CF"), ("CA-R", "CF"), ("CA-U", "CA-R"))


def frame_of(row_class: type, rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Rows as a frame with exactly the columns of a row class."""
    schema = {f.name: _TYPES[str(f.type)] for f in fields(row_class)}
    empty = dict.fromkeys(schema)
    return pl.DataFrame([{**empty, **row} for row in rows], schema=schema)


@dataclass
class StudyMaker:
    """Builds ReportInputs; change a field, then call `inputs`."""

    folder: Path
    generators: tuple[str, ...] = ("steady", "adaptive")
    roles: tuple[str, ...] = ("baker", "ceo", "nurse")
    conditions: tuple[str, ...] = CONDITIONS
    readers: tuple[str, ...] = ("viewer",)
    prompts_each: int = 2
    seeds: int = 2
    roles_behind: int = 12
    planted: bool = True
    labels: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=lambda: DIMENSIONS)
    budget: int = 12_000_000
    backend: str = "simulated"
    broken: bool = True
    sections: bool = False

    def inputs(self) -> ReportInputs:
        """Everything that the report takes."""
        prompts = list(self._prompts())
        images = list(self._images(prompts))
        rows = [*self._estimates(images)]
        return ReportInputs(
            title="Bakers & <CEOs>",
            facts=self._facts(),
            estimates=frame_of(EstimateRow, rows),
            attributes=frame_of(AttributeRow, self._attributes(images)),
            images=images,
            prompts=prompts,
            report_dir=self.folder / "report",
            thumbnail_budget=self.budget,
        )

    def share(self, generator: str, condition: str, label_place: int) -> float:
        """Made-up prevalence: the adaptive generator drifts to even shares when unrelated."""
        even = generator == "adaptive" and condition == "CA-U"
        return 0.5 if even else (0.75 if label_place == 0 else 0.25)

    def _facts(self) -> RunFacts:
        return RunFacts(
            generators=[
                GeneratorRow(
                    generator=g, fingerprint=g, backend=self.backend, settings={"model": g}
                )
                for g in self.generators
            ],
            readers=[
                ReaderRow(reader=r, fingerprint=r, backend=self.backend, settings={}, readable={})
                for r in self.readers
            ],
            preset="paper",
            people="primary",
            alpha=0.05,
            margin_pp=5.0,
            bootstrap=1000,
            codebook="1",
            version="0.1.0",
            made_at="2026-01-02T03:04:05Z",
            seeds="2 images a prompt",
        )

    def _prompts(self) -> Iterable[Prompt]:
        for role, condition, k in itertools.product(
            self.roles, self.conditions, range(self.prompts_each)
        ):
            place = None if condition == "CF" else f"place {k}"
            yield Prompt(
                prompt_id=f"{role}-{condition}-{k}",
                role=role,
                condition=condition,
                base="cf",
                variant=f"phrasing-{k + 1}",
                location=place,
                activity=None,
                text=f'a photo of a {role} </script><b x="1">{place}</b>',
                prompted=(),
                bank="test",
            )

    def _images(self, prompts: list[Prompt]) -> Iterable[ImageRow]:
        first = True
        for generator, prompt, k in itertools.product(self.generators, prompts, range(self.seeds)):
            name = f"{generator}-{prompt.prompt_id}-{k}"
            path = self.folder / "images" / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (160, 120), (len(name) * 5 % 255, 80 * k % 255, 120)).save(path)
            broken = self.broken and first
            first = False
            yield ImageRow(
                image_id=name,
                attempt=1,
                prompt_id=prompt.prompt_id,
                generator=generator,
                generator_fingerprint=generator,
                role=prompt.role,
                condition=prompt.condition,
                variant=prompt.variant,
                seed=100 + k,
                replicate=k,
                status="corrupt" if broken else "ok",
                reason="cut off" if broken else None,
                path=None if broken else str(path),
                sha256=None,
                width=160,
                height=120,
                seconds=0.1,
                created_at="2026-01-02T03:04:05Z",
                provenance={},
            )

    def _attributes(self, images: list[ImageRow]) -> Iterable[dict[str, Any]]:
        for reader, (k, image), (name, (cohort, labels)) in itertools.product(
            self.readers, enumerate(images), self.labels.items()
        ):
            gone = image.status if image.status != "ok" else None
            yield {
                "image_id": image.image_id,
                "image_path": image.path,
                "generator": image.generator,
                "role": image.role,
                "condition": image.condition,
                "prompt_id": image.prompt_id,
                "variant": image.variant,
                "seed": image.seed,
                "reader": reader,
                "person": 0 if cohort == "people" else None,
                "cohort": cohort,
                "dimension": name,
                "label": None if gone else labels[k % len(labels)],
                "missing_reason": gone,
            }

    def _estimates(self, images: list[ImageRow]) -> Iterable[dict[str, Any]]:
        readers = (*self.readers, "planted") if self.planted else self.readers
        for reader in readers:
            keys = {"preset": "paper", "people": "primary", "corrected": False, "codebook": "1"}
            for row in self._of_reader(reader, images):
                yield {"reader": reader, **keys, **row}

    def _of_reader(self, reader: str, images: list[ImageRow]) -> Iterable[dict[str, Any]]:
        yield from self._bias_intensity()
        yield from self._cells()
        if len(self.conditions) > 1:
            yield from self._shares()
        if reader == "planted":
            return
        if self.sections:
            cell = {"cohort": "people", "dimension": "gender_presentation", "label": "female"}
            yield from section_rows(self.generators, self.roles, self.conditions, cell)
        asked = self.conditions if len(self.conditions) > 1 else ()
        for g, c in itertools.product(self.generators, asked):
            contexts = 0.0 if c == "CF" else float(self.prompts_each)
            yield {
                "estimand": "distinct_contexts", "generator": g, "condition": c, "point": contexts,
            }  # fmt: skip
        for g, r, c in itertools.product(self.generators, self.roles, self.conditions):
            n = sum((i.generator, i.role, i.condition) == (g, r, c) for i in images)
            yield {"estimand": "images", "generator": g, "role": r, "condition": c, "n": n}
        for name, (cohort, _) in list(self.labels.items())[:3]:
            yield {
                "estimand": "missing", "generator": self.generators[0], "condition": "CF",
                "cohort": cohort, "dimension": name, "label": "corrupt", "point": 1.0, "n": 12,
            }  # fmt: skip

    def _bias_intensity(self) -> Iterable[dict[str, Any]]:
        means = ("mean",) if len(self.generators) > 1 else ()
        scopes = [(c, None) for c in (*COHORTS, "all")]
        scopes += [(cohort, name) for name, (cohort, _) in self.labels.items()]
        for estimand, support in (("bi_pooled", "raw"), ("bi_role", "equal")):
            for g, (cohort, name) in itertools.product((*self.generators, *means), scopes):
                base = {
                    "estimand": estimand, "generator": g, "cohort": cohort, "dimension": name,
                    "support": support, "method": "bootstrap-percentile-expanded",
                    "n": self.roles_behind,
                }  # fmt: skip
                level = 0.2 + 0.1 * len(cohort) / 6
                for c in (*self.conditions, "all") if len(self.conditions) > 1 else self.conditions:
                    yield base | {
                        "condition": c, "point": level, "low": level - 0.05, "high": level + 0.05,
                    }  # fmt: skip
                if len(self.conditions) == 1:
                    continue
                for a, b in CONTRASTS:
                    gap = -0.12 if g == "adaptive" and a == "CA-U" else 0.004
                    yield base | {
                        "contrast": f"{a} - {b}", "point": gap, "low": gap - 0.03,
                        "high": gap + 0.03,
                    }  # fmt: skip

    def _cells(self) -> Iterable[dict[str, Any]]:
        for g, r, (name, (cohort, labels)) in itertools.product(
            self.generators, self.roles, self.labels.items()
        ):
            for k, label in enumerate(labels):
                cell = {
                    "generator": g, "role": r, "cohort": cohort, "dimension": name, "label": label,
                }  # fmt: skip
                for c in (*self.conditions, "all") if len(self.conditions) > 1 else self.conditions:
                    p = self.share(g, c, k)
                    yield cell | {
                        "estimand": "prevalence", "condition": c, "point": p, "low": p - 0.1,
                        "high": p + 0.1, "method": "wilson", "n": 4, "n_missing": 1,
                    }  # fmt: skip
                if len(self.conditions) > 1:
                    yield from self._comparison(cell, k)

    def _comparison(self, cell: dict[str, Any], k: int) -> Iterable[dict[str, Any]]:
        moved = 25.0 if cell["generator"] == "adaptive" else 0.0
        note = "unsupported" if k == 2 else None
        for name, value in (
            ("range_pp", moved), ("chi2", moved / 4), ("chi2_p", 0.0004 if moved else 0.9),
            ("chi2_q", 0.012 if moved else 0.95), ("equivalence_p", 0.4),
            ("ccs", None if k == 2 else 70.0 / (1 + moved) - k),
        ):  # fmt: skip
            yield cell | {
                "estimand": name, "condition": "all", "point": value, "n": 12, "note": note,
            }  # fmt: skip
        if k == 1:
            yield cell | {
                "estimand": "chi2_p_exact", "condition": "all", "point": 0.0625, "n": 12,
            }  # fmt: skip
        yield cell | {
            "estimand": "invariant_paper", "condition": "all", "note": note,
            "verdict": "false" if moved else "true",
        }  # fmt: skip
        yield cell | {
            "estimand": "verdict", "condition": "all", "note": note,
            "verdict": "shifted" if moved else "inconclusive",
        }  # fmt: skip

    def _shares(self) -> Iterable[dict[str, Any]]:
        for g, cohort in itertools.product(self.generators, (*COHORTS, "all")):
            for name, value in (
                ("share_invariant_paper", 0.9), ("share_invariant", 0.125),
                ("share_inconclusive", 0.625), ("share_shifted", 0.25),
            ):  # fmt: skip
                yield {
                    "estimand": name, "generator": g, "cohort": cohort, "condition": "all",
                    "point": value, "n": 40,
                }  # fmt: skip


MakeStudy = Callable[..., StudyMaker]
"""Type of the fixture `make_study`."""
