"""The frozen configuration of a study, read from study.toml.

Every key is documented here; the reference page and the template of ``contextbias init`` are made
from these docstrings. An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from contextbias.errors import ConfigError, nearest
from contextbias.files import unreadable
from contextbias.schema import DIMENSIONS

CONFIG_VERSION = 1
"""Version of the layout of study.toml."""

Name = Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[A-Za-z0-9][\w .+-]*$")]
"""A name that may stand in a path and in a table."""

RESERVED_NAMES = frozenset({"mean", "all", "planted", "people"})
"""Names with a meaning of their own in the estimates."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class StudySection(_Section):
    """What is asked of every generator."""

    name: str = "study"
    """Title of the study, shown in the report."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Every image's seed is derived from this number."""
    images_per_prompt: int = Field(default=10, ge=1, le=10_000)
    """Images (seeds) for each prompt."""
    seeds: Literal["paired", "independent"] = "paired"
    """``paired``: the same seeds for every prompt of a role, in every condition and generator.
    ``independent``: other seeds for every prompt, as in the paper."""
    masters: Literal["png", "webp"] = "png"
    """Format of the images that are made: ``png``, or ``webp`` (lossless, a fifth to a third
    smaller, slower to write). Changes no pixel, and no image that is there."""


class BenchSection(_Section):
    """Which prompts are asked."""

    bank: str = "contextbench"
    """``contextbench``, ``contextbench-de`` (German, twelve roles), or a path relative to
    study.toml: a context bank of one's own in TOML, or a prompt list in JSON, JSON lines or CSV."""
    roles: Literal["all"] | tuple[str, ...] = "all"
    """Roles of the bank, in any order; ``all`` for every role that it has."""
    unrelated: Literal["everyday", "deranged"] = "everyday"
    """``everyday``: unrelated contexts come from a shared pool of everyday ones, as in the paper.
    ``deranged``: they are the related contexts of another role, so that both conditions hold the
    same contexts."""
    balanced: bool = False
    """Equal numbers of prompts in each condition: 8, where there are 3, 7 and 8."""
    phrasings: tuple[str, ...] = ()
    """Beginnings of a sentence, such as ``["a photo of", "a portrait of"]``, instead of the
    bank's own."""
    axes: tuple[str, ...] = ()
    """Further axes of the bank, such as ``["lighting"]``, that vary beside place and activity."""

    @field_validator("roles", mode="before")
    @classmethod
    def _names_roles(cls, value: object) -> object:
        if value == "all":
            return value
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            raise ValueError(f'{value!r} is no list of names; write ["nurse"], or "all"')
        if not value:
            raise ValueError('is empty; name at least one role, or write "all"')
        return tuple(value)


class BackendSection(_Section):
    """One generator (``[[generators]]``) or one reader (``[[readers]]``)."""

    name: Name
    """How it is called in tables, paths and the report."""
    backend: str
    """Registered name of the backend."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The backend's own options; see its page."""

    @field_validator("name")
    @classmethod
    def _not_reserved(cls, value: str) -> str:
        if value.lower() in RESERVED_NAMES:
            raise ValueError(f"{value!r} has a meaning of its own in the tables; take another name")
        return value


class CanonicaliseSection(_Section):
    """How open-vocabulary answers become labels."""

    mapping: str = "pass-through"
    """``pass-through``: each normalised term is its own label. ``table``: terms of one form, and
    synonyms of the packaged table, become one. ``cluster``: those first, then terms that the
    sentence encoder finds alike (needs ``contextbias models fetch``). ``model``: a language model
    names, splits and merges the groups of ``cluster`` or ``table`` (costs money once; see ``model``
    below). Or the path of a mapping file, relative to study.toml."""
    threshold: float = Field(default=0.38, gt=0, le=1)
    """``cluster``: largest mean cosine distance of terms that become one label."""
    overrides: str | None = Field(default=None, min_length=1)
    """``table``, ``cluster`` and ``model``: path of a file of labels by hand (TOML: a table for
    each dimension, ``"term" = "label"``), relative to study.toml; left out: none."""
    groups: Literal["cluster", "table"] = "cluster"
    """``model``: the offline groups that the language model is given."""
    at_least: int = Field(default=1, ge=1)
    """``model``: groups that were given less often than this are not asked about; their offline
    label stands."""
    model: dict[str, Any] = Field(default_factory=dict)
    """``model``: which language model, and how it is reached: ``{model = "gpt-5.4-mini"}`` at
    least; further options on the page about labels of open vocabularies."""

    @model_validator(mode="after")
    def _keys_have_an_effect(self) -> CanonicaliseSection:
        if self.overrides is not None and self.mapping not in ("table", "cluster", "model"):
            raise ValueError(
                f"overrides has no effect with mapping = {self.mapping!r}; "
                "take table, cluster or model"
            )
        if self.mapping == "model" and "model" not in self.model:
            raise ValueError(
                'mapping = "model" needs a language model; write model = {model = "gpt-5.4-mini"}'
            )
        if self.mapping != "model" and (
            self.model or self.model_fields_set & {"groups", "at_least"}
        ):
            raise ValueError(
                f"model, groups and at_least have no effect with mapping = {self.mapping!r}"
            )
        return self


Preset = Literal["paper", "strict", "reference"]
"""Sets of definitions; see docs/method.md."""


class MeasureSection(_Section):
    """How labels become numbers."""

    preset: Preset = "paper"
    """``paper``: the definitions of the paper's text. ``strict``: the corrected ones lead.
    ``reference``: what the paper's released code computes, for comparison with its files."""
    people: Literal["primary", "any"] = "primary"
    """Whose attributes count: the most prominent person's, or any person's."""
    bootstrap: int = Field(default=1000, ge=0, le=100_000)
    """Replicates of the role bootstrap; 0 for none."""
    intervals: tuple[Literal["expanded", "bca", "two-level"], ...] = Field(
        default=("expanded",), min_length=1
    )
    """Bootstrap intervals of Bias Intensity. ``expanded``: percentiles, centred, expanded for few
    roles. ``bca``: bias-corrected and accelerated. ``two-level``: as ``expanded``, drawing roles
    and then their prompts. The first is in every row; others have rows of their own."""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """Level of tests; intervals have 1 - alpha."""
    margin_pp: float = Field(default=5.0, gt=0, lt=100)
    """Largest range, in percentage points, that counts as no change."""
    shares: str | None = Field(default=None, min_length=1)
    """Path of a table of reference shares (CSV: role, dimension, label, share), relative to
    study.toml; left out: none."""


class AnnotateSection(_Section):
    """What people are asked, about which images, and whose answers will not count.

    It is written down with the first invitation, before anyone has answered, and that version
    stays in force; see docs/annotate.md.
    """

    sets: int | None = Field(default=None, ge=0)
    """Sets of images of one role, condition and generator, each shown as a whole. Left out: one for
    every such cell. Fewer than there are cells: drawn at random. 0: no sets."""
    set_size: int = Field(default=10, ge=2, le=20)
    """Images in a set; also the end of the scale that counts them."""
    images: int = Field(default=0, ge=0)
    """Images that are shown one by one, drawn from all cells alike. Corrected estimates need
    them."""
    roles: Literal["all"] | int | tuple[str, ...] = "all"
    """Which roles are in the study of people: ``all``, a list of names, or a number, for as many
    drawn at random."""
    annotators_per_item: int = Field(default=3, ge=1, le=50)
    """How many people answer about the same item."""
    leave_out: tuple[str, ...] = (
        "depth_of_field",
        "eyewear_present",
        "facial_hair_present",
        "facial_hair_color",
        "gaze_direction",
        "hair_present",
        "tattoo_present",
        "head_covering_present",
    )
    """Dimensions that are not asked: by default those that need a closer look than a set allows,
    and those that another question settles."""
    role_shown_for: tuple[str, ...] = ()
    """Dimensions of which the question names the role. By default nothing of role, condition,
    prompt and generator is shown."""
    gold: str | None = Field(default=None, min_length=1)
    """Known answers, for gold items and training: path of a table (CSV: image, dimension, label,
    use), relative to study.toml, or ``planted``: what simulated generators were told to draw. Left
    out: no gold items and no training."""
    gold_items: int = Field(default=3, ge=0, le=100)
    """Items with known answers among the others, for each annotator and kind of item."""
    training_items: int = Field(default=1, ge=0, le=20)
    """Items with known answers at the beginning, which are shown after each answer."""
    repeats: float = Field(default=0.05, ge=0, le=1)
    """Share of an annotator's items that are shown a second time, later and unannounced."""
    exclude_faster_than: float = Field(default=1.0, ge=0)
    """Rule: an annotator whose median time for an answer is below, in seconds, does not count."""
    exclude_unknown_above: float = Field(default=0.5, ge=0, le=1)
    """Rule: an annotator with a larger share of unknown answers does not count."""
    exclude_gold_below: float = Field(default=0.5, ge=0, le=1)
    """Rule: an annotator with a smaller share of right answers about gold items does not count."""
    exclude_repeats_below: float = Field(default=0.4, ge=0, le=1)
    """Rule: an annotator who gives a smaller share of the same answers the second time does not
    count."""
    consent: str | None = Field(default=None, min_length=1)
    """Path of the text to agree to before the first question (plain text, paragraphs with empty
    lines between), relative to study.toml; left out: a general one."""
    contact: str = ""
    """Whom annotators can ask, and tell that they want to be removed; stands on every page."""
    seconds_per_answer: float = Field(default=8.0, gt=0, le=600)
    """For the estimate of time on the first page, until answers tell."""

    @field_validator("leave_out", "role_shown_for")
    @classmethod
    def _names_dimensions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in DIMENSIONS:
                raise ValueError(
                    f"{name!r} is no dimension; {nearest(name, list(DIMENSIONS)) or 'see docs'}"
                )
        if set(value) == set(DIMENSIONS):
            raise ValueError("leaves no question")
        return value

    @field_validator("roles", mode="before")
    @classmethod
    def _names_roles_or_a_number(cls, value: object) -> object:
        is_number = isinstance(value, int) and not isinstance(value, bool) and value > 0
        if value == "all" or is_number:
            return value
        if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
            return tuple(value)
        raise ValueError(f'{value!r} is neither "all", nor a list of roles, nor a number above 0')


class RunSection(_Section):
    """How the slow stages run; changes no result."""

    workers: int = Field(default=0, ge=0, le=1024)
    """Worker processes or threads; 0 for one a processor core. What runs on GPUs has one worker
    process a GPU, whatever is said here."""
    attempts: int = Field(default=3, ge=1, le=100)
    """How often an item that failed with an error is tried, over all runs."""
    devices: Literal["auto"] | tuple[Annotated[str, Field(min_length=1)], ...] = "auto"
    """GPUs of this machine that are used, one worker process each: ``auto`` for all that there
    are, a list such as ``["0", "2"]``, numbered as nvidia-smi does, or ``[]`` for none."""
    engine: Literal["threads", "ray"] = "threads"
    """``threads``: threads and processes of this machine. ``ray``: a Ray cluster (needs the extra
    ``ray``), for what is heavy on processors or GPUs; what waits for a service stays here."""
    ray_address: str = Field(default="local", pattern=r"^(local|auto|[\w.-]+:\d{1,5})$")
    """The cluster: ``local`` for one that is started on this machine and stopped afterwards,
    ``auto`` for the one that this machine belongs to, or the ``host:port`` of its head."""
    images: str | None = Field(default=None, min_length=1)
    """Where images, and receipts of what was made, are kept instead of the study folder: a folder,
    relative to study.toml, that all machines see under one path, or a URL for fsspec
    (``s3://bucket/study``); left out: in the study folder. Images that are there already stay
    where they are, and are found."""

    @field_validator("devices", mode="before")
    @classmethod
    def _names_devices(cls, value: object) -> object:
        if value == "auto":
            return value
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            raise ValueError(f'{value!r} is no list of GPUs; write ["0", "1"], [], or "auto"')
        return tuple(value)

    @field_validator("images")
    @classmethod
    def _is_seen_by_workers(cls, value: str | None) -> str | None:
        # Each worker would have a memory of its own, and what it has made would go with it.
        if value is not None and value.startswith("memory:"):
            raise ValueError(
                f"{value!r} is seen by one process alone; name a folder, or a URL that lasts"
            )
        return value

    @model_validator(mode="after")
    def _keys_have_an_effect(self) -> RunSection:
        if self.engine == "ray" and self.ray_address != "local" and self.devices != "auto":
            raise ValueError(
                "devices has no effect on a cluster that is running; start its nodes with "
                "--num-gpus, or leave devices out"
            )
        return self


class StudyConfig(_Section):
    """The whole of study.toml."""

    version: Literal[1] = CONFIG_VERSION  # type: ignore[assignment]
    """Version of this layout."""
    study: StudySection = StudySection()
    """What is asked of every generator."""
    bench: BenchSection = BenchSection()
    """Which prompts are asked."""
    generators: tuple[BackendSection, ...] = ()
    """Who draws."""
    readers: tuple[BackendSection, ...] = ()
    """Who reads; the first one leads the report."""
    canonicalise: CanonicaliseSection = CanonicaliseSection()
    """How open-vocabulary answers become labels."""
    measure: MeasureSection = MeasureSection()
    """How labels become numbers."""
    annotate: AnnotateSection = AnnotateSection()
    """What people are asked."""
    run: RunSection = RunSection()
    """How the slow stages run."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> StudyConfig:
        for kind, entries in (("generators", self.generators), ("readers", self.readers)):
            names = [entry.name for entry in entries]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{kind}: the name {twice[0]!r} is used twice")
        return self


def load_config(path: Path) -> StudyConfig:
    """Read and check a study.toml.

    Raises:
        ConfigError: The file is not TOML, or a key or value is wrong; all faults in one line.
        InputError: The file cannot be read.
    """
    try:
        # Some editors put a byte order mark before the text.
        return parse_config(path.read_text("utf-8").removeprefix("\ufeff"), where=path.name)
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not UTF-8 text (byte {error.start})", "save it as UTF-8"
        ) from None


def parse_config(text: str, *, where: str = "study.toml") -> StudyConfig:
    """Parse the text of a study.toml; see `load_config`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not valid TOML: {error}", "correct that line") from None
    try:
        return StudyConfig.model_validate(table)
    except ValidationError as error:
        faults = [_describe(fault) for fault in error.errors(include_url=False)]
        raise ConfigError(f"{where}: {'; '.join(faults)}", "correct it and run again") from None


def _describe(fault: Any) -> str:
    path = [str(part) for part in fault["loc"] if part not in ("tuple[str, ...]",)]
    key = ".".join(path) or "the file"
    if fault["type"] == "extra_forbidden":
        hint = nearest(path[-1], _known_keys(path[:-1]))
        known = ", ".join(_known_keys(path[:-1]))
        return f"unknown key {key!r}" + (f" ({hint})" if hint else f" (known here: {known})")
    if fault["type"] == "tuple_type" and key in ("generators", "readers"):
        return f"{key} is one table; write [[{key}]], with double brackets, for each of them"
    message = str(fault["msg"]).removeprefix("Value error, ")
    seen = fault.get("input")
    if fault["type"] == "tuple_type":
        example = [seen] if isinstance(seen, str) else ["a", "b"]
        return f"{key} = {seen!r} is no list; write {json.dumps(example, ensure_ascii=False)}"
    if fault["type"] in ("value_error", "missing") or isinstance(seen, dict | list):
        return f"{key}: {message}"
    return f"{key} = {seen!r}: {message}"


def _known_keys(path: list[str]) -> list[str]:
    """Names of the keys of the section at `path`, e.g. ``["generators", "0"]``."""
    if not path:
        return list(StudyConfig.model_fields)
    if path[0] in ("generators", "readers"):
        return list(BackendSection.model_fields)
    annotation = StudyConfig.model_fields[path[0]].annotation
    is_section = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return list(annotation.model_fields) if is_section else []  # type: ignore[union-attr]
