"""The form of a bank's TOML file: which keys a table has, and of which type."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Text = Annotated[str, StringConstraints(strict=True, pattern=r"[^\W_]")]
"""Anything with a word in it."""


class Table(BaseModel):
    """A table of the file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PlaceTable(Table):
    """One entry of ``everyday.places``."""

    text: Text
    tags: list[Text] = []


class ActivityTable(Table):
    """One entry of ``everyday.activities``."""

    text: Text
    at: list[Text] = []
    names: list[Text] = []
    tags: list[Text] = []


class RoleActivityTable(Table):
    """One entry of a role's ``activities``."""

    text: Text
    at: list[Text] = []
    names: list[Text] = []


class RoleTable(Table):
    """One ``[[roles]]``."""

    name: Text
    form: Text | None = None
    forms: dict[Literal["m", "f", "n"], Text] = {}
    soc: Text | None = None
    work: list[Text] = []
    avoid: list[Text] = []
    places: list[Text] = Field(min_length=2)
    activities: list[RoleActivityTable] = Field(min_length=1)


class HeadTable(Table):
    """``[bank]``."""

    name: Text
    version: Text
    language: Text = "en"
    licence: Text = "not stated"
    seed: int = Field(0, strict=True)
    phrasings: list[Text] = Field(min_length=3, max_length=3)
    further_phrasings: list[Text] = []


class AxisTable(Table):
    """One ``[[axes]]``."""

    name: Text
    values: list[Text] = Field(min_length=1)
    names: list[Text] = []


class ChecksTable(Table):
    """``[checks]``."""

    allow: list[Text] = []


class EverydayTable(Table):
    """``[everyday]``."""

    places: list[PlaceTable] = Field(min_length=2)
    activities: list[ActivityTable] = Field(min_length=2)


class BankTable(Table):
    """The whole file."""

    bank: HeadTable
    tags: dict[str, Text] = {}
    everyday: EverydayTable
    axes: list[AxisTable] = []
    provenance: dict[str, str | int] = {}
    checks: ChecksTable = ChecksTable()
    roles: list[RoleTable] = Field(min_length=1)
