"""Prompts from a list instead of a bank: the paper's own, or anybody's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contextbias.bench.derive import Derived, derive_variants
from contextbias.bench.entries import ANY_MODEL, ListedPrompt, read_entries
from contextbias.errors import BankError, InputError, nearest
from contextbias.files import unreadable
from contextbias.ids import bytes_sha256, content_hash
from contextbias.tables import CONDITIONS, Prompt

LIST_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv")
"""A bank with such a name is a prompt list."""


@dataclass(frozen=True, slots=True)
class PromptList:
    """A prompt list, ready to be run."""

    label: str
    """Name and hash of the file, as ``Prompt.bank`` has it."""
    prompts: tuple[Prompt, ...]
    """Roles in the order of the list, then conditions, then entries."""
    seeds: Mapping[str, Mapping[str, tuple[int, ...]]]
    """Model, as the list spells it -> prompt id -> its seeds."""
    repeated: int
    """Entries that said the same as an earlier one."""

    @property
    def role_names(self) -> tuple[str, ...]:
        """All roles, in the order of the list."""
        return tuple(dict.fromkeys(prompt.role for prompt in self.prompts))

    def of_roles(self, roles: Sequence[str] | None) -> tuple[Prompt, ...]:
        """The prompts of some roles, or of all for None.

        Raises:
            BankError: A role is not in the list, or none is asked for.
        """
        if roles is None:
            return self.prompts
        asked = {" ".join(role.replace("_", " ").split()).lower(): role for role in roles}
        known = list(self.role_names)
        for key, role in asked.items():
            if key not in known:
                hint = nearest(key, known) or f"its roles are {', '.join(known[:20])}"
                raise BankError(f"there is no role {role!r} in {self.label}", hint)
        if not asked:
            raise BankError("no role is asked for", f"its roles are {', '.join(known[:20])}")
        return tuple(prompt for prompt in self.prompts if prompt.role in asked)

    def seeds_of(self, generator: str) -> Mapping[str, tuple[int, ...]]:
        """Prompt id -> the seeds that the list gives for a generator; empty where it gives none.

        A generator is known by its name in study.toml, whatever the case and the marks in it.
        """
        for model, seeds in self.seeds.items():
            if model != ANY_MODEL and _plain(model) == _plain(generator):
                return seeds
        return self.seeds.get(ANY_MODEL, {})


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def is_prompt_list(name: str) -> bool:
    """Whether a ``bank`` names a prompt list."""
    return name.lower().endswith(LIST_SUFFIXES)


def load_prompt_list(path: Path) -> PromptList:
    """Read a prompt list.

    Raises:
        InputError: The file cannot be read, or an entry is wrong; the message names it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    return parse_prompt_list(data, path.name)


def parse_prompt_list(data: bytes, name: str) -> PromptList:
    """Parse the bytes of a prompt list called `name`; see `load_prompt_list`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} is not UTF-8 text (byte {error.start})", "save it as UTF-8"
        ) from None
    every = read_entries(text, name)
    entries = _merged(every)
    label = f"{Path(name).stem} {bytes_sha256(data)[:8]}"
    made = [
        _prompt(entry, derived, label)
        for entry, derived in zip(entries, derive_variants(entries), strict=True)
    ]
    order = {role: i for i, role in enumerate(dict.fromkeys(entry.role for entry in entries))}
    prompts = sorted(made, key=lambda p: (order[p.role], CONDITIONS.index(p.condition)))
    return PromptList(label, tuple(prompts), _seeds(entries), len(every) - len(entries))


def _merged(entries: Sequence[ListedPrompt]) -> list[ListedPrompt]:
    """Each sentence once; its seeds are those of all entries that say it."""
    found: dict[str, ListedPrompt] = {}
    for entry in entries:
        key = _prompt_id(entry)
        if key not in found:
            found[key] = entry
            continue
        seeds = {
            model: found[key].seeds.get(model, ()) for model in (*found[key].seeds, *entry.seeds)
        }
        for model, more in entry.seeds.items():
            seeds[model] = tuple(dict.fromkeys((*seeds[model], *more)))
        found[key] = replace(found[key], seeds=seeds)
    return list(found.values())


def _prompt_id(entry: ListedPrompt) -> str:
    return content_hash({"role": entry.role, "condition": entry.condition, "text": entry.text})


def _prompt(entry: ListedPrompt, derived: Derived, label: str) -> Prompt:
    named = ("activities",) if derived.activity else ()
    return Prompt(
        prompt_id=_prompt_id(entry),
        role=entry.role,
        condition=entry.condition,
        base=derived.base,
        variant=derived.variant,
        location=derived.location,
        activity=derived.activity,
        text=entry.text,
        prompted=tuple(dict.fromkeys((*named, *entry.prompted))),
        bank=label,
    )


def _seeds(entries: Sequence[ListedPrompt]) -> dict[str, dict[str, tuple[int, ...]]]:
    found: dict[str, dict[str, tuple[int, ...]]] = {}
    for entry in entries:
        for model, seeds in entry.seeds.items():
            found.setdefault(model, {})[_prompt_id(entry)] = seeds
    return found
