"""JSON for the silent path: the C core of the standard library's json without the package around it.

`import json` brings `re` and more, about 25 ms of a green start (measured: 19 ms bare, 46 with json). The accelerator
`_json` alone reads and quotes at the same speed; where it is missing, or meets malformed input (it then needs
json.decoder for its error), the real package answers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    import _json
except ImportError:  # another implementation of Python
    _json = None  # type: ignore[assignment]


def _finite(text: str) -> float:
    """A number that `dumps` can write again: `1e999` is infinite to Python, and as a time limit it would never end."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large")
    return value


class _Settings:
    """What `_json.make_scanner` reads from json.JSONDecoder, with that class's defaults."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    array_hook = None  # Python 3.15 asks for it
    parse_float = staticmethod(_finite)
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012 - the C code wants the name, and clears what it puts there

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(f"{name} is not JSON")


def loads(text: str) -> Any:
    """The value of one JSON text. Raises ValueError for anything else (depth and number limits included)."""
    if _json is not None:
        start = len(text) - len(text.lstrip(" \t\r\n"))
        try:
            value, end = _json.make_scanner(_Settings)(text, start)  # type: ignore[arg-type]
        except (SystemError, StopIteration, ValueError, RecursionError, AttributeError):
            pass  # malformed, or a Python whose scanner asks for a setting that we do not know
        else:
            if not text[end:].strip(" \t\r\n"):
                return value
    import json

    try:
        return json.loads(text, parse_float=_finite, parse_constant=_Settings.parse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def dumps(value: Any) -> str:
    """Compact ASCII JSON of None, booleans, numbers, strings, lists, tuples and dicts with string keys.

    Surrogates (file names that are not UTF-8) become `\\udcNN` escapes, which `loads` gives back as they were.
    """
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, (int, float)):
        if not float("-inf") < value < float("inf"):
            raise ValueError(f"{value} is not JSON")
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([dumps(item) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join([_quote(key) + ":" + dumps(item) for key, item in value.items()]) + "}"
    raise TypeError(f"{type(value).__name__} has no JSON form here")


def _quote(text: str) -> str:
    if _json is not None:
        return _json.encode_basestring_ascii(text)
    from json.encoder import encode_basestring_ascii

    return encode_basestring_ascii(text)
