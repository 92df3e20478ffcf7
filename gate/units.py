"""Sizes and durations: strings with units, in configuration and in findings."""

from __future__ import annotations

import re

from gate.quote import Phrase, say

_SIZES = {
    "": 1,
    "b": 1,
    "k": 1 << 10, "kb": 1000, "kib": 1 << 10,
    "m": 1 << 20, "mb": 1000**2, "mib": 1 << 20,
    "g": 1 << 30, "gb": 1000**3, "gib": 1 << 30,
    "t": 1 << 40, "tb": 1000**4, "tib": 1 << 40,
}  # fmt: skip
_DURATIONS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_NUMBER = r"(?ia)(\d+(?:\.\d+)?)\s*([a-z]*)"
_MOST_BYTES = float(1 << 60)
_MOST_SECONDS = 100 * 366 * 86400.0


class Size(int):
    """A number of bytes; an option with this type takes "512MiB" and plain numbers."""


class Duration(float):
    """A number of seconds; an option with this type takes "48h", "1h30m" and plain numbers."""


def parse_size(text: str | float) -> Size:
    """Bytes of "512MiB", "1.5 GB", "20k" (binary) or a plain number. Raises ValueError that says what is expected."""
    expected = 'a size such as "512MiB", "2GB" or a number of bytes'
    match = re.fullmatch(_NUMBER, str(text).strip())
    if isinstance(text, bool) or match is None or match[2].lower() not in _SIZES:
        raise ValueError(expected)
    count = float(match[1]) * _SIZES[match[2].lower()]
    if count > _MOST_BYTES:
        raise ValueError(f"{expected}, 1 EiB at most")
    return Size(count)


def parse_duration(text: str | float) -> Duration:
    """Seconds of "48h", "7d", "1h30m" or a plain number. Raises ValueError that says what is expected."""
    expected = 'a duration such as "48h", "7d", "30min" or a number of seconds'
    parts = re.findall(_NUMBER, str(text))
    if isinstance(text, bool) or not parts or "".join(n + u for n, u in parts) != str(text).replace(" ", ""):
        raise ValueError(expected)
    if any(unit.lower() not in _DURATIONS for _, unit in parts) or (len(parts) > 1 and "" in [u for _, u in parts]):
        raise ValueError(expected)
    seconds = sum(float(number) * _DURATIONS[unit.lower()] for number, unit in parts)
    if seconds > _MOST_SECONDS:
        raise ValueError(f"{expected}, 100 years at most")
    return Duration(seconds)


def size(count: float) -> Phrase:
    """Bytes for a person, in binary units: `37.0 GiB`, `512 MiB`, `800 B`."""
    value, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    whole = (value == int(value) and unit != "GiB") or unit == "B" or value >= 100
    return say(f"{value:.0f} {unit}" if whole else f"{value:.1f} {unit}")


def duration(seconds: float) -> Phrase:
    """Seconds for a person, in the largest unit that has at least two (of days three): `3 h`, `48 h`, `6 d`, `12 s`."""
    for unit, length, least in (("d", 86400, 3), ("h", 3600, 2), ("min", 60, 2)):
        if seconds >= least * length:
            return say(f"{int(seconds // length)} {unit}")
    return say(f"{max(0, int(seconds))} s")


def format_size(count: float) -> str:
    """Bytes as configuration writes them: `512MiB`, or a plain number where no unit divides it."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count and count % _SIZES[unit.lower()] == 0:
            return f"{int(count // _SIZES[unit.lower()])}{unit}"
    return str(int(count))


def format_duration(seconds: float) -> str:
    """Seconds as configuration writes them: `48h`, `7d`, `90s`."""
    for unit in ("d", "h", "m"):
        if seconds and seconds % _DURATIONS[unit] == 0 and (unit != "d" or seconds > 2 * 86400):
            return f"{int(seconds // _DURATIONS[unit])}{unit}"
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"
