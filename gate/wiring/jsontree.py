"""A JSON text as a tree whose every node knows where it stands: what edits that keep the layout need.

Strict JSON (RFC 8259), and what some clients' parsers take beside it: comments (`//` to the end of the line,
`/* */`) and a comma before a closing bracket. Pure.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

DEPTH_LIMIT = 200
"""Levels of nesting; deeper settings are nobody's."""

_SPACE = re.compile(r"[ \t\r\n]*")
COMMENT = re.compile(r"//[^\r\n]*|/\*(?s:.*?)\*/")
_SPACE_AND_COMMENTS = re.compile(rf"(?:[ \t\r\n]+|{COMMENT.pattern})*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_BOM = "\ufeff"


class Dialect(NamedTuple):
    """What a parser takes beside strict JSON."""

    comments: bool = False
    trailing_commas: bool = False


STRICT = Dialect()


class JsonError(ValueError):
    """A text that is not JSON: what is wrong, and in which line (counted from 1)."""

    def __init__(self, problem: str, text: str, position: int) -> None:
        self.problem = problem
        self.line = text.count("\n", 0, position) + 1
        super().__init__(f"line {self.line}: {problem}")


class Child(NamedTuple):
    """One member of an object (`key` is its name) or one item of an array (`key` is None); it begins at `start`, and
    the comma after it stands at `comma` (-1: there is none).
    """

    key: str | None
    start: int
    node: Node
    comma: int = -1

    @property
    def end(self) -> int:
        """Where it is over, its comma included."""
        return self.node.end if self.comma < 0 else self.comma + 1


class Node(NamedTuple):
    """One value: `text[start:end]`. `value` is what it means (in an object the last of equal keys counts)."""

    start: int
    end: int
    value: Any
    children: tuple[Child, ...] = ()

    def members(self, key: str) -> list[Node]:
        """The values of all members of this name: more than one where a key is repeated."""
        return [child.node for child in self.children if child.key == key]

    def get(self, key: str) -> Node | None:
        """The value of a member; the last one counts, as it does for JSON.parse. None where there is none."""
        return next(iter(reversed(self.members(key))), None)

    def items(self) -> list[Node]:
        """The values of an array."""
        return [child.node for child in self.children]


def parse(text: str, dialect: Dialect = STRICT) -> Node:
    """The root of a text, which may begin with a byte order mark. Raises JsonError."""
    return _Parser(text, dialect).root()


class _Parser:
    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._space = _SPACE_AND_COMMENTS if dialect.comments else _SPACE
        self._dialect = dialect

    def root(self) -> Node:
        """The one value of the text."""
        text = self._text
        node = self._value(self._skip(len(_BOM) if text.startswith(_BOM) else 0), 0)
        rest = self._skip(node.end)
        if rest < len(text):
            raise self._unexpected(rest, "the end of the file")
        return node

    def _value(self, position: int, depth: int) -> Node:
        text = self._text
        character = text[position : position + 1]
        if character in ("{", "["):
            if depth >= DEPTH_LIMIT:
                raise JsonError(f"more than {DEPTH_LIMIT} levels of nesting", text, position)
            return self._container(position, depth)
        if character == '"':
            return self._string(position)
        for word, value in _WORDS.items():
            if text.startswith(word, position):
                return Node(position, position + len(word), value)
        number = _NUMBER.match(text, position)
        if number is None:
            raise self._unexpected(position, "a value")
        whole = number[1] is None and number[2] is None and len(number[0]) < 400
        return Node(position, number.end(), int(number[0]) if whole else float(number[0]))

    def _string(self, position: int) -> Node:
        match = _STRING.match(self._text, position)
        if match is None:
            problem = "a string that does not end, or holds a control character or a wrong escape"
            raise JsonError(problem, self._text, position)
        return Node(position, match.end(), json.loads(match[0]))

    def _container(self, start: int, depth: int) -> Node:
        text = self._text
        is_object = text[start] == "{"
        children: list[Child] = []
        position = self._skip(start + 1)
        closing = "}" if is_object else "]"
        while text[position : position + 1] != closing:
            child = self._child(position, depth, is_object)
            comma = self._skip(child.node.end)
            if text[comma : comma + 1] != ",":
                children.append(child)
                if text[comma : comma + 1] != closing:
                    raise self._unexpected(comma, f"a comma or {closing}")
                position = comma
                break
            children.append(child._replace(comma=comma))
            position = self._skip(comma + 1)
            if text[position : position + 1] == closing and not self._dialect.trailing_commas:
                expected = "a key in double quotes" if is_object else "a value"
                raise self._unexpected(position, expected, comma)
        value: Any = [child.node.value for child in children]
        if is_object:
            value = {child.key: child.node.value for child in children}
        return Node(start, position + 1, value, tuple(children))

    def _child(self, start: int, depth: int, is_object: bool) -> Child:
        position, key = start, None
        if is_object:
            if self._text[position : position + 1] != '"':
                raise self._unexpected(position, "a key in double quotes")
            name = self._string(position)
            key = name.value
            position = self._skip(name.end)
            if self._text[position : position + 1] != ":":
                raise self._unexpected(position, "a colon")
            position = self._skip(position + 1)
        return Child(key, start, self._value(position, depth + 1))

    def _skip(self, position: int) -> int:
        match = self._space.match(self._text, position)
        return match.end() if match else position

    def _unexpected(self, position: int, expected: str, comma: int = -1) -> JsonError:
        text = self._text
        found = text[position : position + 1]
        if not found:
            return JsonError(f"the file ends where {expected} is expected", text, position)
        if text.startswith("/*", position) and self._dialect.comments:
            return JsonError("a comment that does not end", text, position)
        if text.startswith(("//", "/*"), position) or found == "#":
            which = " of a form that is not read" if self._dialect.comments else ", which JSON does not have"
            return JsonError(f"a comment{which}", text, position)
        if comma >= 0:
            return JsonError("a comma before the closing bracket, which JSON does not allow", text, comma)
        return JsonError(f"{found!r} where {expected} is expected", text, position)
