"""Breaking lines for a terminal: at words, with the rest of a paragraph under its beginning.

Only where somebody looks: off a terminal a line stays one, so that `grep` finds all of it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

LEAST = 40
"""Columns. A narrower terminal breaks lines by itself; broken at words, they would be one word each."""

_ITEM = re.compile(r"[-*] |\d+\. ")


def wrap(text: str, width: int | None, hanging: str = "") -> list[str]:
    """One line as lines of `width` columns at most (None: as it is); those after the first begin with `hanging`. A
    word that is longer, a path, stays whole.
    """
    if width is None or width < LEAST or len(text) <= width:
        return [text]
    indent = text[: len(text) - len(text.lstrip(" "))]
    return textwrap.wrap(
        text.strip(),
        width - 1,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def wrap_clauses(text: str, width: int | None, hanging: str) -> list[str]:
    """A remedy as one line, or a line for each of its clauses. One that holds a path is not broken: a command that was
    copied from there would end before it, and the path would be the next command.
    """
    if width is None or len(text) <= width:
        return [text]
    clauses = text.replace("; ", f";\n{hanging}").split("\n")
    return [part for clause in clauses for part in ([clause] if "/" in clause else wrap(clause, width, hanging + "  "))]


def wrap_markdown(text: str, width: int | None) -> Iterator[str]:
    """The lines of a Markdown text, its paragraphs and list items filled anew for a narrower terminal."""
    lines = text.splitlines()
    if width is None or max(map(len, lines), default=0) <= width:
        yield from lines
        return
    for block in _blocks(lines):
        hanging = "  " if _ITEM.match(block) else ""
        yield from wrap(block, width, hanging) if block[:4] != "    " else [block]


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Headings, code and blank lines as they are, each paragraph and each item of a list as one line."""
    waiting: list[str] = []
    for line in lines:
        alone = not line.strip() or line.startswith(("#", "    ", "```", "|", ">"))
        if waiting and (alone or _ITEM.match(line)):
            yield _joined(waiting)
            waiting = []
        if alone:
            yield line
        else:
            waiting.append(line.strip() if waiting else line.rstrip())
    if waiting:
        yield _joined(waiting)


def _joined(lines: Iterable[str]) -> str:
    # A line that ends with a slash was broken within a name.
    return "".join(line if line.endswith("/") else line + " " for line in lines).rstrip()
