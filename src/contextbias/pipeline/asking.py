"""Which prompts study.toml asks for: those of a bank, or those of a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from contextbias.bench import (
    BenchOptions,
    PromptList,
    build_prompts,
    is_prompt_list,
    load_bank,
    load_prompt_list,
    shipped_banks,
)
from contextbias.config import BenchSection
from contextbias.errors import ConfigError
from contextbias.store import Study
from contextbias.tables import Prompt


@dataclass(frozen=True, slots=True)
class Asked:
    """The prompts of a study, and the seeds that came with them."""

    prompts: tuple[Prompt, ...]
    """In the order in which they are asked for."""
    listed: PromptList | None = None
    """The list that they are from; None for those of a bank."""

    def seeds_of(self, generator: str) -> Mapping[str, tuple[int, ...]]:
        """Prompt id -> seeds that the list gives for this generator; empty where none are."""
        return {} if self.listed is None else self.listed.seeds_of(generator)


def asked_of(study: Study) -> Asked:
    """Build or read the prompts that a study's configuration asks for.

    Raises:
        BankError: An unknown role, or a bank that breaks a rule.
        InputError: A prompt list that cannot be read.
        ConfigError: A prompt list together with options that build other prompts.
    """
    bench = study.config.bench
    roles = None if bench.roles == "all" else bench.roles
    if is_prompt_list(bench.bank):
        _refuse_options(bench)
        listed = load_prompt_list(study.root / bench.bank)
        return Asked(listed.of_roles(roles), listed)
    name = bench.bank if bench.bank in shipped_banks() else str(study.root / bench.bank)
    options = BenchOptions(
        unrelated=bench.unrelated,
        balanced=bench.balanced,
        phrasings=bench.phrasings,
        axes=bench.axes,
    )
    return Asked(build_prompts(load_bank(name), roles, options))


def _refuse_options(bench: BenchSection) -> None:
    """A list has the prompts that it has."""
    defaults = BenchSection()
    for key in ("unrelated", "balanced", "phrasings", "axes"):
        if getattr(bench, key) != getattr(defaults, key):
            raise ConfigError(
                f"bench.{key} has no effect on the prompt list {bench.bank!r}",
                f"take {key} out, or name a bank",
            )
