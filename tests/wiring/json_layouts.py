"""JSON texts in every layout that people give them, for hypothesis."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

SPACE = st.text(" \t\r\n", max_size=3)
COMMENTS = st.sampled_from(['// "a": 1,', "//", "// */ x", "/* b */", "/**/", "/* http://c\n, */", "// Zoë {"])
SPACE_AND_COMMENTS = st.lists(SPACE | COMMENTS.map(lambda text: text + "\n" * text.startswith("//")), max_size=3).map(
    "".join
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)


@st.composite
def layouts(
    draw: st.DrawFn, values: st.SearchStrategy[Any] = VALUES, comments: bool = False, commas: bool = False
) -> str:
    """A text for a value: as programs write it, or with any white space and escapes; perhaps with a byte order mark.
    Perhaps with comments and with commas before closing brackets, where these are allowed.
    """
    value = draw(values)
    bom = draw(st.sampled_from(["", "", "\ufeff"]))
    if draw(st.booleans()) and not (comments or commas):
        indent = draw(st.sampled_from([None, 2, 4, "\t"]))
        text = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans()))
        newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
        return bom + text.replace("\n", newline) + draw(st.sampled_from(["", newline]))
    writer = _Writer(draw, SPACE_AND_COMMENTS if comments else SPACE, commas)
    return bom + writer.space() + writer.written(value) + writer.space()


class _Writer:
    def __init__(self, draw: st.DrawFn, space: st.SearchStrategy[str], commas: bool) -> None:
        self._draw, self._space, self._commas = draw, space, commas

    def space(self) -> str:
        return self._draw(self._space)

    def written(self, value: Any) -> str:
        if isinstance(value, dict):
            members = [f"{self._text(key)}{self.space()}:{self._padded(inner)}" for key, inner in value.items()]
            padded = [self.space() + member + self.space() for member in members]
            return "{" + (self._joined(padded) or self.space()) + "}"
        if isinstance(value, list):
            return "[" + (self._joined([self._padded(inner) for inner in value]) or self.space()) + "]"
        return self._text(value)

    def _joined(self, parts: list[str]) -> str:
        ends = self._commas and parts and self._draw(st.booleans())
        return ",".join(parts) + ("," + self.space() if ends else "")

    def _text(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=self._draw(st.booleans()))

    def _padded(self, value: Any) -> str:
        return self.space() + self.written(value) + self.space()
