"""What values from a file must be: a few checks that are put together into a table of fields.

A check takes a value, as `json.loads` made it, and its name, and raises a ValueError of one line.
Nothing is converted and nothing is allocated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Any

__all__ = [
    "Check",
    "any_name",
    "choice",
    "flag",
    "items",
    "maybe",
    "number",
    "plain",
    "record",
    "shown",
    "text",
    "whole",
]

Check = Callable[[Any, str], None]

_LARGEST = 2**63 - 1
_DEEPEST = 8  # lists within lists that a parameter may have


def shown(value: Any) -> str:
    """A value on one line, shortened, for an error.

    >>> shown([1, 2])
    '[1, 2]'
    """
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # thousands of digits, or of lists within lists
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def whole(low: int = -_LARGEST, high: int = _LARGEST) -> Check:
    """A whole number; True is none.

    >>> whole(0, 9)(3, "digit")
    """

    def check(value: Any, name: str) -> None:
        _need(type(value) is int and low <= value <= high, name, f"whole, {low} to {high}", value)

    return check


def number(low: float = -inf, high: float = inf, finite: bool = True) -> Check:
    """A number that a float can hold; infinity and NaN only where they may be."""

    def check(value: Any, name: str) -> None:
        fits = type(value) is float or (type(value) is int and abs(value) <= _LARGEST)
        fits = fits and (low <= value <= high or (not finite and value != value))
        bounds = f" from {low:g} to {high:g}" if isfinite(low) or isfinite(high) else ""
        _need(fits and (not finite or isfinite(value)), name, f"a number{bounds}", value)

    return check


def text(pattern: str = r".*") -> Check:
    """Text that UTF-8 can hold."""
    allowed = re.compile(pattern, re.DOTALL)

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, str) and allowed.fullmatch(value)
        wanted = "text" if pattern == r".*" else f"text like {pattern}"
        _need(fits and _encodable(value), name, wanted, value)

    return check


def choice(*allowed: str) -> Check:
    """One of several words."""

    def check(value: Any, name: str) -> None:
        fits = isinstance(value, str) and value in allowed
        _need(fits, name, f"one of {', '.join(allowed)}", value)

    return check


def flag(value: Any, name: str) -> None:
    """True or False."""
    _need(isinstance(value, bool), name, "true or false", value)


def maybe(check: Check) -> Check:
    """None, or what `check` takes."""
    return lambda value, name: None if value is None else check(value, name)


def items(check: Check, least: int = 0, most: float = inf) -> Check:
    """A list, and what each of its items must be."""

    def check_all(value: Any, name: str) -> None:
        fits = isinstance(value, list) and least <= len(value) <= most
        size = f" of {least}" if least == most else f" of at least {least}" if least else ""
        _need(fits, name, f"a list{size}", value)
        for place, item in enumerate(value):
            check(item, f"{name}[{place}]")

    return check_all


def record(fields: Mapping[str, Check]) -> Check:
    """Exactly these fields."""

    def check_all(value: Any, name: str) -> None:
        _need(isinstance(value, dict), name, "an object with fields", value)
        if value.keys() != fields.keys():
            missing = sorted(fields.keys() - value.keys())
            unknown = sorted(value.keys() - fields.keys())
            said = [f"{len(missing)} missing ({shown(missing)})"] if missing else []
            said += [f"{len(unknown)} unknown ({shown(unknown)})"] if unknown else []
            raise ValueError(f"{name} must have its fields and no others, {', '.join(said)}")
        for field, check in fields.items():
            check(value[field], f"{name}.{field}")

    return check_all


def any_name(check: Check) -> Check:
    """An object whose fields may have any name."""

    def check_all(value: Any, name: str) -> None:
        _need(isinstance(value, dict), name, "an object with fields", value)
        for field, item in value.items():
            _need(_encodable(field), name, "fields with names", field)
            check(item, f"{name}.{field}")

    return check_all


def plain(value: Any, name: str, depth: int = 0) -> None:
    """A parameter: nothing, a number, text, or {"tuple": [..]} or {"dict": [[key, value], ..]}."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, (int, float)):
        return number(finite=False)(value, name)
    if isinstance(value, str):
        return text()(value, name)
    nested = isinstance(value, dict) and list(value) in (["tuple"], ["dict"]) and depth < _DEEPEST
    _need(nested, name, "a plain value", value)
    deeper: Check = lambda item, name: plain(item, name, depth + 1)  # noqa: E731
    many = items(deeper) if "tuple" in value else items(items(deeper, 2, 2))
    return many(next(iter(value.values())), name)


def _need(fits: Any, name: str, wanted: str, value: Any) -> None:
    if not fits:
        raise ValueError(f"{name} must be {wanted}, got {shown(value)}")


def _encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        return False
    return True
