from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import jsontext

TEXTS = st.text(st.characters())  # surrogates included
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20)


@pytest.fixture(params=["accelerator", "package"], scope="module", autouse=True)
def _both_ways(request: pytest.FixtureRequest) -> Any:
    """Once with the C core, once as on a Python that has none."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "package":
            patch.setattr(jsontext, "_json", None)
        else:
            assert getattr(jsontext, "_json") is not None  # noqa: B009
        yield


def refuse(name: str) -> float:
    raise ValueError(name)


def finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(text)
    return value


def expected(text: str) -> Any:
    """What the standard library makes of a text, less what is not JSON or cannot be written again."""
    try:
        return json.loads(text, parse_constant=refuse, parse_float=finite)
    except (ValueError, RecursionError):
        return ValueError


def actual(text: str) -> Any:
    try:
        return jsontext.loads(text)
    except ValueError:
        return ValueError


@given(VALUES)
def test_what_is_written_is_read_back_by_both(value: Any) -> None:
    text = jsontext.dumps(value)
    assert text.isascii()
    assert repr(jsontext.loads(text)) == repr(value)
    assert repr(json.loads(text)) == repr(value)


@given(VALUES)
def test_it_is_written_as_the_standard_library_would(value: Any) -> None:
    assert jsontext.dumps(value) == json.dumps(value, separators=(",", ":"))


@given(VALUES, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.text(" \t\r\n"), st.text(" \t\r\n"))
def test_any_layout_is_read(value: Any, indent: Any, ascii_only: bool, before: str, after: str) -> None:
    text = before + json.dumps(value, indent=indent, ensure_ascii=ascii_only) + after
    assert repr(jsontext.loads(text)) == repr(value)


@given(st.one_of(TEXTS, st.text('{}[]":,0123456789eE+-.\\ntfalsru \x00\ufeff')))
def test_of_any_text_it_makes_what_the_standard_library_makes(text: str) -> None:
    assert repr(actual(text)) == repr(expected(text))


@given(VALUES, st.data())
def test_of_a_part_or_a_damaged_text_too(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    damaged = text[:start] + data.draw(st.text(max_size=3)) + text[end:]
    assert repr(actual(damaged)) == repr(expected(damaged))


@pytest.mark.parametrize(
    "text",
    ["", " ", "NaN", "Infinity", "[-Infinity]", "1e999", "[-1e999]", "1" * 5000, "[" * 100_000, '{"a":' * 100_000,
     "[" * 100_000 + "]" * 100_000, '{"a":1,}', "[1,]", "01", "+1", ".5", "1.", "'a'", '"\n"', '"\\x"', "\ufeff1",
     "1 2", "{}{}", "nul", '{1:2}', "\u00a01", "1\u2003"],
)  # fmt: skip
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    assert actual(text) is ValueError


def test_of_two_keys_alike_the_last_counts() -> None:
    assert jsontext.loads('{"a": 1, "a": 2}') == {"a": 2}


def test_names_that_are_not_utf_8_come_back_as_they_were() -> None:
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    assert jsontext.dumps([name]) == '["caf\\udce9"]'
    assert jsontext.loads('["caf\\udce9"]') == [name]


def test_tuples_and_subclasses_are_written_as_what_they_are() -> None:
    class Count(int):
        pass

    class Ratio(float):
        pass

    assert jsontext.dumps((Count(3), Ratio(0.5), ())) == "[3,0.5,[]]"


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf]])
def test_a_number_that_is_not_json_is_a_value_error(value: Any) -> None:
    with pytest.raises(ValueError, match="is not JSON"):
        jsontext.dumps(value)


@pytest.mark.parametrize("value", [b"bytes", {1: 2}, {None: 1}, {1, 2}, object(), [complex(1, 2)]])
def test_anything_else_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError):
        jsontext.dumps(value)
