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

from collections.abc import Callable, Collection, Sequence

from contextbias.errors import ConfigError, nearest
from contextbias.pipeline import derived, paid
from contextbias.pipeline.imports import import_images
from contextbias.pipeline.options import Done, Options
from contextbias.pipeline.prompt_lists import import_prompts
from contextbias.pipeline.released import (
    import_records,
    import_reference,
    read_reference,
    read_source,
)
from contextbias.pipeline.selection import Wanted, check_names
from contextbias.pipeline.state import Failure, failures, status
from contextbias.store import Study

__all__ = [
    "STAGES",
    "Done",
    "Failure",
    "Options",
    "failures",
    "import_images",
    "import_prompts",
    "import_records",
    "import_reference",
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
    """
    wanted = Wanted(study)
    check_names("role", options.roles, _known_roles(wanted))
    check_names("generator", options.generators, _known_generators(wanted))
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
    return [steps[stage](wanted, options) for stage in STAGES if stage in stages]


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


def _known_roles(wanted: Wanted) -> list[str]:
    imported = {image.role for image in wanted.study.images()}
    return sorted({prompt.role for prompt in wanted.prompts} | imported)


def _known_generators(wanted: Wanted) -> list[str]:
    configured: Collection[str] = {section.name for section in wanted.study.config.generators}
    return sorted({*configured, *(row.generator for row in wanted.study.generators())})
