"""The tree of a JSON text: what it means, where everything stands, and what is wrong with what is no JSON."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from json_layouts import VALUES, layouts

from gate.wiring.jsontree import Dialect, JsonError, Node, parse


def refuse(name: str) -> NoReturn:
    raise ValueError(name)


@given(layouts())
def test_it_means_what_the_standard_library_reads(text: str) -> None:
    assert parse(text).value == json.loads(text.removeprefix("\ufeff"))


@given(layouts())
def test_each_node_stands_where_it_says(text: str) -> None:
    def check(node: Node) -> None:
        assert json.loads(text[node.start : node.end]) == node.value
        for child in node.children:
            if child.key is not None:
                assert text[child.start] == '"'
                assert json.loads("{" + text[child.start : child.node.end] + "}") == {child.key: child.node.value}
            check(child.node)

    check(parse(text))


@given(st.text('{}[]":,\\ \n\ttruefalsn019.-+eEuNI/*', max_size=12))
@example("01")
@example("-")
@example("1.")
@example("[1,]")
@example('{"a":1,}')
@example('{"a" 1}')
@example("NaN")
@example('"\\x"')
@example('"\n"')
@example('{"a":1}{')
@example("")
def test_it_takes_just_what_is_strict_json(text: str) -> None:
    try:
        expected: Any = json.loads(text, parse_constant=refuse)
    except ValueError:
        with pytest.raises(JsonError):
            parse(text)
    else:
        assert parse(text).value == expected


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{\n  // why\n  "a": 1\n}', 2, "a comment"),
        ('{\n  "a": 1, # why\n}', 2, "a comment"),
        ('{\n  "a": 1,\n}\n', 2, "a comma before the closing bracket"),
        ('{\r\n  "a": 1\r\n  "b": 2\r\n}', 3, "'\"' where a comma or } is expected"),
        ('{"a": 1', 1, "the file ends where a comma or } is expected"),
        ('{\n\n"a: 1}', 3, "a string that does not end"),
        ("{'a': 1}", 1, "a key in double quotes is expected"),
        ("[" * 300, 1, "levels of nesting"),
    ],
)
def test_an_error_names_the_line_and_what_is_wrong(text: str, line: int, problem: str) -> None:
    with pytest.raises(JsonError) as caught:
        parse(text)
    assert caught.value.line == line
    assert problem in str(caught.value)


def test_of_equal_keys_the_last_counts_as_it_does_for_clients() -> None:
    root = parse('{"a": 1, "a": 2}')
    assert root.value == {"a": 2}
    found = root.get("a")
    assert found is not None
    assert found.value == 2
    assert [node.value for node in root.members("a")] == [1, 2]


def test_a_number_of_any_length_is_read() -> None:
    assert parse("[" + "9" * 5000 + "]").value == [float("inf")]


LENIENT = Dialect(comments=True, trailing_commas=True)


@given(VALUES, st.data())
def test_comments_and_last_commas_mean_nothing(value: Any, data: st.DataObject) -> None:
    text = data.draw(layouts(st.just(value), comments=True, commas=True))
    assert parse(text, LENIENT).value == value


@pytest.mark.parametrize("text", ["[1,,]", "[,]", "{,}", "[1 /* ]", "[1] /", "[1] # x", "// x", '{"a": /* */}'])
def test_a_lenient_parser_takes_not_everything(text: str) -> None:
    with pytest.raises(JsonError):
        parse(text, LENIENT)


def test_each_leniency_is_its_own() -> None:
    assert parse("[1 /* one */]", Dialect(comments=True)).value == [1]
    assert parse("[1,]", Dialect(trailing_commas=True)).value == [1]
    for text, dialect in (("[1,]", Dialect(comments=True)), ("[1 // one\n]", Dialect(trailing_commas=True))):
        with pytest.raises(JsonError):
            parse(text, dialect)
