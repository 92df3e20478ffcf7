"""One way to show other people's text.

File names, branch names, process names, lock contents and error messages are chosen by others, and what the gate prints
goes into a model's context and a person's terminal. So findings hold raw values, and a `Phrase` keeps them apart from
our own words until it is rendered: each value is then quoted, cut to a length, and stands where a reader can see that
it begins and ends.
"""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Iterable

NAME_LIMIT = 200
"""Characters of one quoted value. Longer ones keep their beginning and end."""

WORD_LIMIT = 1000
"""Characters of a path in a command; a longer one is not shown as a command."""

LIST_LIMIT = 10
"""Values of one list that are shown; the rest is a number."""

# Of ASCII alone: there are scripts in which a whole sentence is written without a space.
_BARE = r"(?a)[\w./@+=:~%^#-]+"
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_HARMFUL = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
# Letters and marks that show as nothing at all (Unicode's Default_Ignorable_Code_Point beyond the categories above, and
# the empty braille cell): text has been smuggled past readers in rows of variation selectors.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0").union(
    map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0))
)


class Phrase:
    """Our words with other people's values in them: `Phrase("{} holds {}", path, size)`; made by `say`."""

    __slots__ = ("template", "values")

    def __init__(self, template: str, values: tuple[object, ...]) -> None:
        self.template = template
        self.values = values

    def __str__(self) -> str:
        return line(self.template.format(*[_show(value) for value in self.values]))

    def __repr__(self) -> str:
        return f"say({self.template!r}, {', '.join(map(repr, self.values))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Phrase) and (self.template, self.values) == (other.template, other.values)

    def __hash__(self) -> int:
        return hash((self.template, self.values))


def say(template: str, *values: object) -> Phrase:
    """A phrase: a literal template of ours with a `{}` for each value. Strings, bytes and paths are quoted; numbers and
    other phrases stand as they are; a list is joined by commas and cut after `LIST_LIMIT`.
    """
    return Phrase(template, values)


class ShellWord:
    """A path in a command that a reader may paste into a shell: quoted so that it is that path and runs nothing.

    One that cannot be typed (control and invisible characters, bytes that are not UTF-8, tags, fences) is not shown.
    """

    __slots__ = ("path",)

    def __init__(self, path: str | bytes | os.PathLike[str]) -> None:
        self.path = os.fsdecode(path)

    def __str__(self) -> str:
        if line(self.path) != self.path or len(self.path) > WORD_LIMIT:
            return "(a path that cannot be typed)"
        return shlex.quote(self.path)


def _show(value: object) -> str:
    if isinstance(value, Phrase | ShellWord):
        return str(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (bytes, str, os.PathLike)):
        return name(value)
    if isinstance(value, Iterable):
        return _join(list(value))
    return name(str(value))


def _join(values: list[object]) -> str:
    shown = ", ".join(_show(value) for value in values[:LIST_LIMIT])
    more = len(values) - LIST_LIMIT
    return f"{shown} and {more} more" if more > 0 else shown


def name(value: str | bytes | os.PathLike[str], limit: int = NAME_LIMIT) -> str:
    """One value of other people's: bare where it is a plain word of ASCII, else in double quotes with git's escapes.

    Nothing in the result is a control, format, bidirectional, zero-width or unassigned character, a line break, a fence
    or a tag; bytes that are not UTF-8 show as `\\xNN`.
    """
    text = os.fsdecode(value) if not isinstance(value, str) else value
    cut = ""
    if len(text) > limit:
        tail = limit // 4
        cut = f"… ({len(text):,} characters)"
        text = text[: limit - tail] + "…" + text[len(text) - tail :]
    if re.fullmatch(_BARE, text) and "~~~" not in text and not any(map(is_harmful, text)):
        return text + cut
    return '"' + _unfence("".join(_escape(c, quoted=True) for c in text)) + '"' + cut


def short(value: str, room: int) -> str:
    """The same in at most `room` characters (20 and more), escapes counted: for what is cut to a length later, so that
    its closing quote is not cut off.
    """
    limit = min(NAME_LIMIT, room)
    while len(shown := name(value, limit)) > room and limit > 1:
        limit //= 2
    return shown if len(shown) <= room else "…"


def line(text: str) -> str:
    """A text as one harmless line, for what is words already (and for what comes back from a file). Idempotent."""
    if text.isascii() and text.isprintable() and "`" not in text and "<" not in text and "~~~" not in text:
        return text
    return _unfence("".join(_escape(c, quoted=False) for c in text))


def is_harmful(character: str) -> bool:
    """Whether a character is invisible, or moves, breaks or turns what stands around it."""
    return (
        unicodedata.category(character) in _HARMFUL
        or character in _INVISIBLE
        or (character.isspace() and character != " ")
    )


def _unfence(text: str) -> str:
    return text.replace("```", "\\x60\\x60\\x60").replace("~~~", "\\x7e\\x7e\\x7e")


def _escape(character: str, quoted: bool) -> str:
    code = ord(character)
    if quoted and character in _SHORT:
        return _SHORT[character]
    if character in _SHORT and character not in '"\\':
        return _SHORT[character]
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, as os.fsdecode keeps it
        return f"\\x{code - 0xDC00:02x}"
    if character == "<" or (quoted and character == "`"):
        return f"\\x{code:02x}"
    if is_harmful(character):  # from 0x80 on, \xNN stands for a byte
        return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character
