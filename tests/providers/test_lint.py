"""Our linter against schemas, and against the fake provider's own idea of strict mode."""

from __future__ import annotations

from typing import Any

import pytest
from tests.provider.strict import schema_fault

from contextbias.errors import ConfigError
from contextbias.providers import lint_schema, profile
from contextbias.providers.lint import faults
from contextbias.schema.strict import strict_schema


def obj(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


WORD = {"type": "string"}


def nested(levels: int) -> dict[str, Any]:
    return obj(a=WORD) if levels == 2 else obj(a=nested(levels - 1))


def test_our_own_schema_is_fine() -> None:
    assert faults(strict_schema()) == []
    assert schema_fault(strict_schema()) is None
    lint_schema(strict_schema(), profile("gpt-5-mini"))


BAD = {
    "a dictionary": (obj(a={"type": "object", "additionalProperties": WORD}), "a: "),
    "not all required": (obj(a=WORD) | {"required": []}, "a: not among the required"),
    "required, and no property": (
        obj(a=WORD) | {"required": ["a", "b"]},
        "b: required, and no property",
    ),
    "further properties": (obj(a=WORD) | {"additionalProperties": True}, "not false"),
    "a default": (obj(a=WORD | {"default": "x"}), "'default' is not supported"),
    "no object": ({"type": "array", "items": WORD}, "it is no object"),
    "a list without items": (obj(a={"type": "array"}), "a: a list without items"),
    "no type": (obj(a={"description": "?"}), "a: it has no type"),
    "no schema": (obj(a=True), "a: True is no schema"),
    "too deep": (nested(11), "11 levels inside each other"),
    "an empty enumeration": (obj(a={"type": "string", "enum": []}), "without values"),
    "too many values": (
        obj(**{f"p{n}": {"enum": [str(i) for i in range(101)]} for n in range(10)}),
        "1,010 values of enumerations",
    ),
    "a long enumeration": (
        obj(a={"type": "string", "enum": [f"{i:060}" for i in range(251)]}),
        "15,060 characters",
    ),
    "too many properties": (obj(**{f"p{n}": WORD for n in range(5001)}), "5,001 properties"),
    "too many characters": (
        obj(**{"n" * 100 + str(n): WORD for n in range(1200)}),
        "characters of names and values",
    ),
    "a reference to nowhere": (obj(a={"$ref": "#/$defs/b"}), "leads nowhere"),
    "inside a list": (obj(a={"type": "array", "items": obj(b=WORD | {"default": 1})}), "a[].b: "),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_every_rule(name: str) -> None:
    schema, said = BAD[name]
    found = faults(schema)
    assert any(said in fault for fault in found), found
    with pytest.raises(ConfigError, match="breaks rules of strict mode"):
        lint_schema(schema, profile("gpt-5-mini"))


_ONLY_OURS = {"a reference to nowhere", "an empty enumeration"}


@pytest.mark.parametrize("name", sorted(set(BAD) - _ONLY_OURS))
def test_the_strict_provider_refuses_the_same(name: str) -> None:
    assert schema_fault(BAD[name][0]) is not None


def test_what_is_allowed() -> None:
    schema = obj(
        a={"type": ["string", "null"]},
        b={"anyOf": [WORD, obj(c=WORD)]},
        d={"$ref": "#/$defs/tree"},
        e={"type": "array", "items": WORD, "minItems": 0, "maxItems": 4},
        f={"enum": ["x", "y"], "description": "closed"},
    )
    schema["$defs"] = {"tree": obj(child={"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]})}
    assert faults(schema) == []
    assert schema_fault(schema) is None


def test_ten_levels_are_allowed() -> None:
    assert faults(nested(10)) == []
    assert schema_fault(nested(10)) is None


def test_many_faults_are_counted() -> None:
    schema = obj(**{f"p{n}": WORD | {"default": 1} for n in range(9)})
    with pytest.raises(ConfigError, match="and 4 more"):
        lint_schema(schema, profile("gpt-5-mini"))


def test_other_modes_are_not_held_to_strict_rules() -> None:
    lint_schema(BAD["a default"][0], profile("llava", structured="json_object"))
