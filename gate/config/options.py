"""What an option of a check can be: the kinds of values, how TOML gives them, and how TOML is given them back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from gate.quote import is_harmful
from gate.units import Duration, Size, format_duration, format_size, parse_duration, parse_size

Texts = tuple[str, ...]

_MOST = 10**12
_LONGEST_LIST = 1000
_LONGEST_TEXT = 4096


def kinds_of(options: type) -> Mapping[str, Any]:
    """The names of an options class's fields, and the type of each; where its annotations cannot be resolved, the type
    of the default.
    """
    try:
        hints = get_type_hints(options)
    except Exception:  # noqa: BLE001 - evaluates other people's annotations
        hints = {}
    return {field.name: hints.get(field.name, type(field.default)) for field in fields(options) if field.init}


def convert(value: object, kind: Any) -> Any:
    """A value as TOML gives it, made the `kind` of an option. Raises ValueError with the words for what is expected."""
    if kind is Size or kind is Duration:
        number = value if isinstance(value, (str, int, float)) else ""
        return parse_size(number) if kind is Size else parse_duration(number)
    if kind is bool:
        return _require(value, isinstance(value, bool), "true or false")
    if kind is int:
        return _require(value, type(value) is int and _is_sane(value), f"a whole number from 0 to {_MOST}")
    if kind is float:
        return float(_require(value, type(value) in (int, float) and _is_sane(value), f"a number from 0 to {_MOST}"))
    if kind is str:
        return _require(value, _is_text(value), "a string")
    if kind in (tuple, Texts):
        fine = (
            isinstance(value, list) and len(value) <= _LONGEST_LIST and all(item and _is_text(item) for item in value)
        )
        return tuple(_require(value, fine, 'a list of strings, such as ["one", "two"]'))
    raise ValueError("nothing: this option's type is not one that configuration can give")


def _require(value: Any, fine: bool, expected: str) -> Any:
    if not fine:
        raise ValueError(expected)
    return value


def _is_sane(number: Any) -> bool:
    return bool(0 <= number <= _MOST)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT and "\0" not in value


def show(value: Any, kind: Any = None) -> str:
    """A value as TOML has it, in units where its kind has any: `"512MiB"`, `20`, `["*.keep"]`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if Size in (kind, type(value)):
            return str(int(value)) if format_size(value).isdigit() else f'"{format_size(value)}"'
        return f'"{format_duration(value)}"' if Duration in (kind, type(value)) else repr(value)
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(show(item) for item in value) + "]"
    return '"' + "".join(map(_escape, str(value))) + '"'


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers bare (orjson refuses subclasses of float), lists as lists; in base units."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else str(value)


def unit_of(kind: Any) -> str | None:
    """What a number of this kind counts; None where it is no size and no duration."""
    return "bytes" if kind is Size else "seconds" if kind is Duration else None


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    code = ord(character)
    return character if not is_harmful(character) else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
