"""Edits of a JSON text that touch nothing but what they are about: layout, order, line ends and escapes stay.

Each takes a text and a node of its tree and returns the new text; trees are cheap, so one is made anew for each edit.
What is added is laid out as its neighbours are, and comments stay with what they stand beside. Adding to a container
that holds something, or that is just `{}` or `[]`, and removing again what was added gives back the same text. Pure.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from gate.wiring.jsontree import COMMENT, Node

_NEWLINE = re.compile(r"\r\n|\n|\r")
_BLANK = " \t\r\n"
_DEFAULT_INDENT = "  "


def replace(text: str, node: Node, value: Any) -> str:
    """Put another value in a value's place."""
    style = _Style.of(text)
    return text[: node.start] + style.render(value, _indent_at(text, node.start), "\n" in text) + text[node.end :]


def add_member(text: str, root: Node, container: Node, key: str, value: Any) -> str:
    """Add a member at the end of an object of the tree that begins at `root`."""
    return _add(text, root, container, key, value)


def add_item(text: str, root: Node, container: Node, value: Any) -> str:
    """Add an item at the end of an array of the tree that begins at `root`."""
    return _add(text, root, container, None, value)


def remove(text: str, container: Node, index: int) -> str:
    """Take a member or an item out of its container, by its place there; the last one leaves `{}` or `[]`. Comments
    outside of it stay.
    """
    children = container.children
    child = children[index]
    if index < len(children) - 1:
        after = children[index + 1].start
        return text[: child.start] + _comments(text, child.node.end, after, child.comma).lstrip(_BLANK) + text[after:]
    if index == 0:
        before, after = container.start + 1, container.end - 1
        kept = _comments(text, before, child.start).rstrip(_BLANK)
        return text[:before] + _joined(kept, _comments(text, child.node.end, after, child.comma) + text[after:])
    previous = children[index - 1]
    if child.comma >= 0:  # who ends the last one with a comma does so still
        kept = _comments(text, previous.end, child.start).rstrip(_BLANK)
        return text[: previous.end] + _joined(kept, _comments(text, child.node.end, child.comma) + text[child.end :])
    kept = _comments(text, previous.node.end, child.start, previous.comma).rstrip(_BLANK)
    return text[: previous.node.end] + _joined(kept, text[child.node.end :])


def _comments(text: str, start: int, end: int, comma: int = -1) -> str:
    """What stands between two values, without the comma; nothing where that is white space alone."""
    between = text[start:end] if comma < 0 else text[start:comma] + text[comma + 1 : end]
    return between if between.strip(_BLANK) else ""


def _joined(kept: str, rest: str) -> str:
    """Comments, and what follows them: not as a part of the last."""
    follows_on = _ends_in_line_comment(kept) and not _NEWLINE.match(rest.lstrip(" \t"))
    return kept + (_Style.of(kept + rest).newline if follows_on else "") + rest


def _ends_in_line_comment(comments: str) -> bool:
    found = COMMENT.findall(comments)
    return bool(found) and found[-1].startswith("//")


def new_document(value: Any) -> str:
    """The text of a file that holds just this value."""
    return json.dumps(value, indent=_DEFAULT_INDENT, ensure_ascii=False) + "\n"


class _Style(NamedTuple):
    """How a text is laid out: its line end, one level's indentation, what stands after a colon and an inline comma."""

    newline: str
    indent: str
    colon: str
    comma: str

    @classmethod
    def of(cls, text: str) -> _Style:
        ends = _NEWLINE.findall(text)
        newline = max(("\n", "\r\n", "\r"), key=ends.count)
        first = re.search(r"[\r\n]([ \t]+)[\"\[{]", text)
        spaced = re.search(r'"[ \t]*:[ \t]', text) is not None or not re.search(r'"[ \t]*:', text)
        inline = re.search(r",[^\S\r\n]", text) is not None or spaced
        return cls(newline, first[1] if first else _DEFAULT_INDENT, ": " if spaced else ":", ", " if inline else ",")

    def render(self, value: Any, indentation: str, over_lines: bool, key: str | None = None) -> str:
        """A value (a member where there is a key), over several lines or in one, for where it is indented so far."""
        if over_lines:
            lines = json.dumps(value, indent=self.indent, ensure_ascii=False, separators=(",", self.colon)).split("\n")
            rendered = (self.newline + indentation).join(lines)
        else:
            rendered = json.dumps(value, ensure_ascii=False, separators=(self.comma, self.colon))
        return rendered if key is None else json.dumps(key, ensure_ascii=False) + self.colon + rendered


def _add(text: str, root: Node, container: Node, key: str | None, value: Any) -> str:
    style = _Style.of(text)
    over_lines = _over_lines(text, root, container)
    if not container.children:
        outer = _indent_at(text, container.start)
        kept = _comments(text, container.start + 1, container.end - 1).rstrip(_BLANK)
        over_lines = over_lines or bool(kept)
        inner = style.newline + outer + style.indent if over_lines else ""
        rendered = style.render(value, outer + style.indent, over_lines, key)
        close = style.newline + outer if over_lines else ""
        return text[: container.start + 1] + kept + inner + rendered + close + text[container.end - 1 :]
    last = container.children[-1]
    beside = _comments(text, last.end, container.end - 1).rstrip(_BLANK)
    over_lines = over_lines or _ends_in_line_comment(beside)
    if over_lines:
        # The line end and indentation of the last one, without empty lines that set it apart.
        gap = _gap_before(text, container, len(container.children) - 1)
        ends = list(_NEWLINE.finditer(gap))
        indentation = gap[ends[-1].end() :] if ends else _indent_at(text, last.start)
        separator = (ends[-1][0] if ends else style.newline) + indentation
    else:
        indentation, separator = "", style.comma[1:]
    added = separator + style.render(value, indentation, over_lines, key)
    if last.comma >= 0:
        return text[: last.end] + beside + added + "," + text[last.end + len(beside) :]
    return text[: last.node.end] + "," + beside + added + text[last.node.end + len(beside) :]


def _over_lines(text: str, root: Node, container: Node) -> bool:
    """Whether the children of a container stand on lines of their own: as its last one does, else as it does itself."""
    if container.children:
        return bool(_NEWLINE.search(_gap_before(text, container, len(container.children) - 1)))
    parent = _parent(root, container)
    return True if parent is None else _over_lines(text, root, parent)


def _parent(root: Node, wanted: Node) -> Node | None:
    node = root
    while node.start != wanted.start:
        inner = [child.node for child in node.children if child.node.start <= wanted.start < child.node.end]
        if not inner:
            return None
        if inner[0].start == wanted.start:
            return node
        node = inner[0]
    return None


def _gap_before(text: str, container: Node, index: int) -> str:
    """The white space between a child and the comma or bracket before it."""
    before = text[: container.children[index].start]
    return before[len(before.rstrip(" \t\r\n")) :]


def _indent_at(text: str, position: int) -> str:
    """The indentation of the line that a position is in."""
    ends = list(_NEWLINE.finditer(text, 0, position))
    line = text[ends[-1].end() if ends else 0 : position].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]
