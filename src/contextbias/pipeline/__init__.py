"""The stages in order, with the tables that each reads and writes.

::

    bench         config             -> prompts
    generate      prompts            -> generators, images, derived/planted
    extract       images             -> readers, readings
    canonicalise  images, readings   -> derived/attributes, derived/mapping
                  frequencies        -> derived/label_counts
    measure       attributes, planted-> derived/estimates
                  label_counts
    report        estimates, …       -> report/

Each stage does what is missing and says what it did. The three fast stages compare what they were
made from with what is there now, and do nothing when it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from contextbias import engines
from contextbias.errors import ConfigError, nearest
from contextbias.pipeline import derived, paid
from contextbias.pipeline.imports import import_images
from contextbias.pipeline.options import Done, Options
from contextbias.pipeline.preview import Preview, preview
from contextbias.pipeline.prompt_lists import import_prompts
from contextbias.pipeline.released import (
    import_records,
    import_reference,
    read_reference,
    read_source,
)
from contextbias.pipeline.selection import Wanted, check_options
from contextbias.pipeline.state import Failure, failures, status
from contextbias.store import Study

__all__ = [
    "STAGES",
    "Done",
    "Failure",
    "Options",
    "Preview",
    "failures",
    "import_images",
    "import_prompts",
    "import_records",
    "import_reference",
    "preview",
    "read_reference",
    "read_source",
    "run",
    "stages_until",
    "status",
]

STAGES = ("bench", "generate", "extract", "canonicalise", "measure", "report")
"""All stages, in order."""


def run(study: Study, stages: Sequence[str], options: Options) -> list[Done]:
    """Run `stages`, in the order of `STAGES`, and say what each did.

    Raises:
        ConfigError: The configuration, or an option, asks for something impossible.
        MissingPart: So does a package, or a program, that is not installed.
    """
    wanted = Wanted(study)
    check_options(wanted, options)
    if "extract" in stages:
        _ = wanted.reader_rows  # a reader that cannot be had is said before anything is made
    steps: dict[str, Callable[[Wanted, Options], Done]] = {
        "bench": paid.bench,
        "generate": paid.generate,
        "extract": paid.extract,
        "canonicalise": derived.canonicalise,
        "measure": derived.measure,
        "report": derived.report,
    }
    if {"generate", "extract"} & set(stages):
        engines.check(options.engine_of(study.config.run))
    try:
        return [steps[stage](wanted, options) for stage in STAGES if stage in stages]
    finally:
        engines.close()


def stages_until(last: str | None) -> tuple[str, ...]:
    """The stages up to and including `last`; all when it is None.

    Raises:
        ConfigError: No such stage.
    """
    if last is None:
        return STAGES
    if last not in STAGES:
        hint = nearest(last, list(STAGES)) or f"stages: {', '.join(STAGES)}"
        raise ConfigError(f"there is no stage {last!r}", hint)
    return STAGES[: STAGES.index(last) + 1]
