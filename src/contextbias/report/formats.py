"""Numbers as text: one place for digits, signs and the mark of a missing number."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

MISSING = "–"
"""Printed where a number is undefined or missing."""

_MINUS = "\N{MINUS SIGN}"


def is_number(value: float | None) -> bool:
    """True for a finite number; None, NaN and infinities are printed as missing."""
    return value is not None and isfinite(value)


def plain(value: float | None, digits: int = 3) -> str:
    """A number with `digits` decimals and a true minus sign."""
    if value is None or not isfinite(value):
        return MISSING
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", _MINUS)


def signed(value: float | None, digits: int = 3) -> str:
    """A difference: always with its sign, except for an exact (rounded) zero."""
    text = plain(value, digits)
    if text == MISSING or text.startswith(_MINUS) or float(text) == 0:
        return text
    return f"+{text}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in [0, 1] as a percentage."""
    return MISSING if share is None or not isfinite(share) else f"{plain(100 * share, digits)}%"


def coarse_percent(share: float) -> str:
    """A share in whole percent; only all is ``100%``, and only none is ``0%``."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else percent(share, 0)


def level(alpha: float) -> str:
    """The level of intervals that leave out `alpha`, such as ``95%``."""
    return f"{short(100 * (1 - alpha))}%"


def whole(value: float | None) -> str:
    """A count with thin spaces between thousands."""
    if value is None or not isfinite(value):
        return MISSING
    text = f"{round(value):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return text.replace("-", _MINUS)


def p_value(value: float | None) -> str:
    """A p or q value: three decimals, and ``<.001`` below."""
    if value is None or not isfinite(value):
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def interval(low: float | None, high: float | None, *, sign: bool = False, digits: int = 3) -> str:
    """``[low, high]``, or an empty string when there is no interval."""
    if not (is_number(low) and is_number(high)):
        return ""
    write = signed if sign else plain
    return f"[{write(low, digits)}, {write(high, digits)}]"


def share_interval(low: float | None, high: float | None) -> str:
    """``[low, high]`` of a share, in percent."""
    if low is None or high is None or not (isfinite(low) and isfinite(high)):
        return ""
    return f"[{plain(100 * low, 1)}, {plain(100 * high, 1)}]"


def short(value: float) -> str:
    """A setting, without trailing zeros."""
    return f"{value:g}"


def minus(contrast: str) -> str:
    """A contrast such as ``CA-U - CF`` with a true minus sign; the hyphens of names stay."""
    return contrast.replace(" - ", f" {_MINUS} ")


def listed(names: Sequence[str]) -> str:
    """``CF, CA-R and CA-U``: names as a list in a sentence; at least one."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def words(name: str) -> str:
    """A column's or dimension's name for reading: underscores become spaces."""
    return name.replace("_", " ")


def capital(name: str) -> str:
    """`words` with a capital first letter."""
    text = words(name)
    return text[:1].upper() + text[1:]
