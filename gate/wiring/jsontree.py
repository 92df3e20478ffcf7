"""A JSON text as a tree whose every node knows where it stands: what edits that keep the layout need.

Strict JSON (RFC 8259), as clients read their settings: no comments, no trailing commas. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

DEPTH_LIMIT = 200
"""Levels of nesting; deeper settings are nobody's."""

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}
_BOM = "\ufeff"


class JsonError(ValueError):
    """A text that is not JSON: what is wrong, and in which line (counted from 1)."""

    def __init__(self, problem: str, text: str, position: int) -> None:
        self.problem = problem
        self.line = text.count("\n", 0, position) + 1
        super().__init__(f"line {self.line}: {problem}")


class Child(NamedTuple):
    """One member of an object (`key` is its name) or one item of an array (`key` is None); it begins at `start`."""

    key: str | None
    start: int
    node: Node


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


def parse(text: str) -> Node:
    """The root of a text, which may begin with a byte order mark. Raises JsonError."""
    position = _skip(text, len(_BOM) if text.startswith(_BOM) else 0)
    node = _value(text, position, 0)
    rest = _skip(text, node.end)
    if rest < len(text):
        raise _unexpected(text, rest, "the end of the file")
    return node


def _value(text: str, position: int, depth: int) -> Node:
    character = text[position : position + 1]
    if character in ("{", "["):
        if depth >= DEPTH_LIMIT:
            raise JsonError(f"more than {DEPTH_LIMIT} levels of nesting", text, position)
        return _container(text, position, depth)
    if character == '"':
        return _string(text, position)
    for word, value in _WORDS.items():
        if text.startswith(word, position):
            return Node(position, position + len(word), value)
    number = _NUMBER.match(text, position)
    if number is None:
        raise _unexpected(text, position, "a value")
    whole = number[1] is None and number[2] is None and len(number[0]) < 400
    return Node(position, number.end(), int(number[0]) if whole else float(number[0]))


def _string(text: str, position: int) -> Node:
    match = _STRING.match(text, position)
    if match is None:
        raise JsonError("a string that does not end, or holds a control character or a wrong escape", text, position)
    return Node(position, match.end(), json.loads(match[0]))


def _container(text: str, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    children: list[Child] = []
    position = _skip(text, start + 1)
    closing = "}" if is_object else "]"
    if text[position : position + 1] != closing:
        for child in _children(text, position, depth, is_object):
            children.append(child)
            position = _skip(text, child.node.end)
            if text[position : position + 1] != ",":
                break
        if text[position : position + 1] != closing:
            raise _unexpected(text, position, f"a comma or {closing}")
    value: Any = [child.node.value for child in children]
    if is_object:
        value = {child.key: child.node.value for child in children}
    return Node(start, position + 1, value, tuple(children))


def _children(text: str, position: int, depth: int, is_object: bool) -> Iterator[Child]:
    while True:
        start, key = position, None
        if is_object:
            if text[position : position + 1] != '"':
                raise _unexpected(text, position, "a key in double quotes")
            name = _string(text, position)
            key = name.value
            position = _skip(text, name.end)
            if text[position : position + 1] != ":":
                raise _unexpected(text, position, "a colon")
            position = _skip(text, position + 1)
        node = _value(text, position, depth + 1)
        yield Child(key, start, node)
        position = _skip(text, _skip(text, node.end) + 1)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _unexpected(text: str, position: int, expected: str) -> JsonError:
    found = text[position : position + 1]
    before = text[:position].rstrip(" \t\r\n")
    if not found:
        return JsonError(f"the file ends where {expected} is expected", text, position)
    if text.startswith(("//", "/*"), position) or found == "#":
        return JsonError("a comment, which JSON does not have", text, position)
    if found in "}]" and before.endswith(","):
        return JsonError("a comma before the closing bracket, which JSON does not allow", text, len(before) - 1)
    return JsonError(f"{found!r} where {expected} is expected", text, position)
