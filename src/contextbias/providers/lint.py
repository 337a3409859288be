"""A JSON schema held against a provider's strict mode, before anything is spent.

Rules: every object lists all its properties as required and allows no others (a field that is a
dictionary would come back empty, always); no defaults; limits on depth, on the number of
properties and values, and on the length of all names and values together. Depth is counted from
the outermost object of what is sent, so that a wrapper counts too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from contextbias.errors import ConfigError
from contextbias.providers.profiles import ModelProfile

MOST_LEVELS = 10
"""Objects and lists inside each other."""
MOST_PROPERTIES = 5000
"""Of all objects together."""
MOST_VALUES = 1000
"""Of all enumerations together."""
MOST_CHARACTERS = 120_000
"""Of all names and values of enumerations together."""
LONG_ENUM = (250, 15_000)
"""An enumeration of more values than the first has at most so many characters as the second."""

_KEYWORDS = frozenset({
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "definitions", "description", "enum",
    "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems",
    "minimum", "multipleOf", "pattern", "properties", "required", "title", "type",
})  # fmt: skip
_SHOWN = 5


def lint_schema(schema: Mapping[str, Any], profile: ModelProfile) -> None:
    """Refuse a schema that the provider would refuse, or read otherwise than it looks.

    Args:
        schema: JSON schema of the answer.
        profile: The model; only a schema that is sent as strict is held against strict rules.

    Raises:
        ConfigError: The first faults, each with its place, and how many there are.
    """
    if profile.structured != "json_schema":
        return
    found = faults(schema)
    if found:
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise ConfigError(
            f"the schema of the answer breaks rules of strict mode: "
            f"{'; '.join(found[:_SHOWN])}{more}",
            "correct the schema, or take another structured mode",
        )


@dataclass(slots=True)
class _Count:
    properties: int = 0
    values: int = 0
    characters: int = 0
    levels: int = 0
    seen: set[str] = field(default_factory=set)


def faults(schema: Mapping[str, Any]) -> list[str]:
    """Every rule of strict mode that `schema` breaks, with its place; empty when it is fine."""
    count = _Count()
    found = [] if schema.get("type") == "object" else ["the whole: it is no object"]
    if "anyOf" in schema:
        found.append("the whole: anyOf is not allowed at the top")
    found += _faults(schema, schema, "the whole", 1, count)
    for what, seen, most in (
        ("levels inside each other", count.levels, MOST_LEVELS),
        ("properties", count.properties, MOST_PROPERTIES),
        ("values of enumerations", count.values, MOST_VALUES),
        ("characters of names and values", count.characters, MOST_CHARACTERS),
    ):
        if seen > most:
            found.append(f"the whole: {seen:,} {what}, of {most:,} allowed")
    return found


def _faults(
    node: Any, root: Mapping[str, Any], where: str, level: int, count: _Count
) -> Iterator[str]:
    if not isinstance(node, Mapping):
        yield f"{where}: {node!r} is no schema"
        return
    count.levels = max(count.levels, level)
    if level > MOST_LEVELS:
        return  # A schema may hold itself.
    for keyword in sorted(set(node) - _KEYWORDS):
        yield f"{where}: {keyword!r} is not supported"
    if "$ref" in node:
        yield from _of_reference(str(node["$ref"]), root, where, level, count)
        return
    if not {"type", "enum", "const", "anyOf"} & set(node):
        yield f"{where}: it has no type"
    if "enum" in node:
        yield from _of_values(node["enum"], where, count)
    if _is(node, "object"):
        yield from _of_object(node, root, where, level, count)
    if _is(node, "array"):
        if "items" not in node:
            yield f"{where}: a list without items"
        else:
            yield from _faults(node["items"], root, f"{where}[]", level + 1, count)
    for index, child in enumerate(node.get("anyOf", ())):
        yield from _faults(child, root, f"{where}|{index}", level, count)


def _is(node: Mapping[str, Any], kind: str) -> bool:
    types = node.get("type")
    return types == kind or (isinstance(types, (list, tuple)) and kind in types)


def _of_reference(
    reference: str, root: Mapping[str, Any], where: str, level: int, count: _Count
) -> Iterator[str]:
    target: Any = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        target = target.get(part) if part and isinstance(target, Mapping) else target
    if target is None:
        yield f"{where}: {reference!r} leads nowhere"
        return
    if reference in count.seen:
        return
    count.seen.add(reference)
    yield from _faults(target, root, where, level, count)


def _of_values(values: Any, where: str, count: _Count) -> Iterator[str]:
    if not isinstance(values, (list, tuple)) or not values:
        yield f"{where}: an enumeration without values"
        return
    size = sum(len(str(value)) for value in values)
    count.values += len(values)
    count.characters += size
    if len(values) > LONG_ENUM[0] and size > LONG_ENUM[1]:
        yield f"{where}: an enumeration of {size:,} characters, of {LONG_ENUM[1]:,} allowed"


def _of_object(
    node: Mapping[str, Any], root: Mapping[str, Any], where: str, level: int, count: _Count
) -> Iterator[str]:
    properties = node.get("properties")
    if node.get("additionalProperties") is not False:
        yield f"{where}: additionalProperties is not false (a dictionary? take a list of pairs)"
    if not isinstance(properties, Mapping):
        yield f"{where}: an object without properties"
        return
    required = node.get("required") or ()
    for name in properties:
        if name not in required:
            yield f"{where}.{name}: not among the required"
    for name in sorted(set(required) - set(properties)):
        yield f"{where}.{name}: required, and no property"
    count.properties += len(properties)
    count.characters += sum(len(name) for name in properties)
    for name, child in properties.items():
        place = name if where == "the whole" else f"{where}.{name}"
        yield from _faults(child, root, place, level + 1, count)
