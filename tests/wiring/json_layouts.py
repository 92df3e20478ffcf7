"""JSON texts in every layout that people give them, for hypothesis."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

SPACE = st.text(" \t\r\n", max_size=3)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=4)


@st.composite
def layouts(draw: st.DrawFn, values: st.SearchStrategy[Any] = VALUES) -> str:
    """A text for a value: as programs write it, or with any white space and escapes; perhaps with a byte order mark."""
    value = draw(values)
    bom = draw(st.sampled_from(["", "", "\ufeff"]))
    if draw(st.booleans()):
        indent = draw(st.sampled_from([None, 2, 4, "\t"]))
        text = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans()))
        newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
        return bom + text.replace("\n", newline) + draw(st.sampled_from(["", newline]))
    return bom + draw(SPACE) + _written(draw, value) + draw(SPACE)


def _written(draw: st.DrawFn, value: Any) -> str:
    if isinstance(value, dict):
        members = [_key(draw, key) + draw(SPACE) + ":" + _padded(draw, inner) for key, inner in value.items()]
        return "{" + draw(SPACE) + (draw(SPACE) + "," + draw(SPACE)).join(members) + draw(SPACE) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_padded(draw, inner) for inner in value) + (draw(SPACE) if not value else "") + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def _key(draw: st.DrawFn, key: str) -> str:
    return json.dumps(key, ensure_ascii=draw(st.booleans()))


def _padded(draw: st.DrawFn, value: Any) -> str:
    return draw(SPACE) + _written(draw, value) + draw(SPACE)
