"""What a bank is built of: roles, language, axes, and where its everyday pool comes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from contextbias.bench.bank import Axis, Bank
from contextbias.bench.builder.roles import WantedRole
from contextbias.bench.language import (
    LANGUAGE_FILE,
    Language,
    load_language,
    load_language_file,
)
from contextbias.bench.reading import load_bank, shipped_banks
from contextbias.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is asked for."""

    roles: tuple[WantedRole, ...]
    """Its roles, in their order."""
    language: Language
    """Of all its sentences."""
    language_name: str = "en"
    """As the bank's file has it: a code, or a file beside it."""
    shipped: Bank | None = None
    """The bank that ships in this language: tags, everyday pool, axes and phrasings come from it;
    None: the pool is proposed too."""
    axes: tuple[str, ...] = ()
    """Names of axes that are proposed."""
    known_axes: tuple[Axis, ...] = ()
    """Axes that are taken from the shipped bank."""
    phrasings: tuple[str, ...] = ()
    """Three beginnings of a sentence."""

    @property
    def example(self) -> Bank:
        """A bank whose tags, and whose form, are shown to the language model."""
        return self.shipped if self.shipped is not None else load_bank()

    @property
    def has_own_pool(self) -> bool:
        """Whether the everyday pool is proposed."""
        return self.shipped is None


def subject_of(
    roles: list[WantedRole],
    *,
    language: str = "en",
    axes: tuple[str, ...] = (),
    phrasings: tuple[str, ...] = (),
    own_pool: bool = False,
) -> Subject:
    """Put together what is asked for.

    Args:
        roles: From `read_roles`.
        language: ``en``, ``de``, or the path of a language file.
        axes: Names of axes. Those of the shipped bank are taken as they are there.
        phrasings: Instead of the shipped bank's; three.
        own_pool: Propose an everyday pool although a bank ships in this language.

    Raises:
        BankError: There is no such language.
        InputError: A language of one's own without phrasings, or an axis twice.
    """
    if language.endswith(LANGUAGE_FILE):
        found, shipped = load_language_file(Path(language)), None
    else:
        found = load_language(language)
        banks = (load_bank(name) for name in shipped_banks())
        shipped = next((bank for bank in banks if bank.language.code == language), None)
    given = phrasings or (shipped.phrasings if shipped is not None else ())
    if len(given) != 3:
        raise InputError(
            f"a bank has three phrasings, and there are {len(given)}",
            "give --phrasing three times, such as 'a photo of'",
        )
    if len(set(axes)) != len(axes):
        raise InputError(f"--axes {','.join(axes)} names one twice", "take it out")
    ready = {axis.name: axis for axis in shipped.axes} if shipped is not None else {}
    return Subject(
        roles=tuple(roles),
        language=found,
        language_name=language,
        shipped=None if own_pool else shipped,
        axes=tuple(name for name in axes if name not in ready),
        known_axes=tuple(ready[name] for name in axes if name in ready),
        phrasings=given,
    )
