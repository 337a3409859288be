"""A backend's options from study.toml, checked: an unknown one names the nearest known one."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from contextbias.errors import ConfigError, nearest


class Options(BaseModel):
    """Base of a backend's options: one field an option, frozen, nothing unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @classmethod
    def parse(cls, options: dict[str, Any], *, backend: str) -> Self:
        """Check `options`.

        Args:
            options: The table ``options`` of a ``[[generators]]`` or ``[[readers]]`` entry.
            backend: Its name, for the message.

        Raises:
            ConfigError: An option is unknown or has a wrong value; all faults in one line.
        """
        try:
            return cls.model_validate(options)
        except ValidationError as error:
            faults = [_describe(cls, fault) for fault in error.errors(include_url=False)]
            known = ", ".join(cls.model_fields)
            raise ConfigError(
                f"options of the {backend} backend: {'; '.join(faults)}",
                f"correct study.toml (options: {known})",
            ) from None


def _describe(model: type[BaseModel], fault: Any) -> str:
    key = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        hint = nearest(str(fault["loc"][-1]), list(model.model_fields))
        return f"unknown option {key!r}" + (f" ({hint})" if hint else "")
    message = str(fault["msg"]).removeprefix("Value error, ")
    field = model.model_fields.get(str(fault["loc"][0])) if key else None
    if field is not None and not field.repr:
        return f"{key}: {message}"
    return f"{key} = {fault.get('input')!r}: {message}" if key else message
