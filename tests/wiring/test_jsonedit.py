"""Edits change what they are about and nothing else: for every layout, checked against the standard library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from json_layouts import OBJECTS, SCALARS, TEXTS, VALUES, layouts

from gate.wiring import jsonedit
from gate.wiring.jsontree import COMMENT, Dialect, Node, parse


def loads(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


def containers(node: Node, kind: type) -> Iterator[Node]:
    if isinstance(node.value, kind):
        yield node
    for child in node.children:
        yield from containers(child.node, kind)


def is_edit_within(before: str, after: str, start: int, end: int) -> bool:
    """Whether all outside of `before[start:end]` is as it was."""
    return after.startswith(before[:start]) and after.endswith(before[end:]) and len(after) >= start + len(before) - end


def draw_container(data: st.DataObject, root: Node, kind: type) -> Node:
    return data.draw(st.sampled_from(list(containers(root, kind))))


@given(layouts(OBJECTS), TEXTS, VALUES, st.data())
def test_adding_a_member(text: str, key: str, value: Any, data: st.DataObject) -> None:
    root = parse(text)
    container = draw_container(data, root, dict)
    assume(key not in container.value)
    after = jsonedit.add_member(text, root, container, key, value)
    assert is_edit_within(text, after, container.start + 1, container.end - 1)
    grown = parse(after[container.start : container.end + len(after) - len(text)])
    assert grown.value == container.value | {key: value}
    assert list(grown.value) == [*container.value, key]
    if container.children:
        last = container.children[-1].node.end
        assert is_edit_within(text, after, last, last)


@given(layouts(st.lists(VALUES, max_size=4)), VALUES, st.data())
def test_adding_an_item(text: str, value: Any, data: st.DataObject) -> None:
    root = parse(text)
    container = draw_container(data, root, list)
    after = jsonedit.add_item(text, root, container, value)
    assert is_edit_within(text, after, container.start + 1, container.end - 1)
    assert parse(after[container.start : container.end + len(after) - len(text)]).value == [*container.value, value]


@given(layouts(OBJECTS), TEXTS, VALUES, st.data())
def test_removing_what_was_added_is_the_identity(text: str, key: str, value: Any, data: st.DataObject) -> None:
    root = parse(text)
    container = draw_container(data, root, dict)
    assume(key not in container.value)
    assume(container.children or container.end - container.start == 2)
    after = jsonedit.add_member(text, root, container, key, value)
    grown = next(node for node in containers(parse(after), dict) if node.start == container.start)
    assert jsonedit.remove(after, grown, len(grown.children) - 1) == text


@given(layouts(st.lists(VALUES, min_size=1, max_size=4) | st.dictionaries(TEXTS, VALUES, min_size=1)), st.data())
def test_removing(text: str, data: st.DataObject) -> None:
    root = parse(text)
    index = data.draw(st.integers(0, len(root.children) - 1))
    after = jsonedit.remove(text, root, index)
    child = root.children[index]
    assert is_edit_within(text, after, root.start + 1, root.end - 1)
    if child.key is None:
        assert loads(after) == root.value[:index] + root.value[index + 1 :]
    else:
        assert loads(after) == {key: value for key, value in root.value.items() if key != child.key}
    for number, other in enumerate(root.children):
        if number != index:
            assert text[other.start : other.node.end] in after


@given(layouts(OBJECTS), SCALARS, st.data())
def test_replacing_a_value(text: str, value: Any, data: st.DataObject) -> None:
    root = parse(text)
    assume(root.children)
    child = data.draw(st.sampled_from(root.children))
    after = jsonedit.replace(text, child.node, value)
    assert is_edit_within(text, after, child.node.start, child.node.end)
    assert loads(after) == root.value | {child.key: value}


def added(text: str, *path: str) -> str:
    """`{"k": [1]}` added under "n" (or as an item) to the container at a path."""
    root = node = parse(text)
    for key in path:
        found = node.get(key)
        assert found is not None
        node = found
    if isinstance(node.value, list):
        return jsonedit.add_item(text, root, node, {"k": [1]})
    return jsonedit.add_member(text, root, node, "n", {"k": [1]})


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("{}", (), '{\n  "n": {\n    "k": [\n      1\n    ]\n  }\n}'),
        ('{"a": 1}', (), '{"a": 1, "n": {"k": [1]}}'),
        ('{"a":1}', (), '{"a":1,"n":{"k":[1]}}'),
        ('{\n    "a": 1\n}\n', (), '{\n    "a": 1,\n    "n": {\n        "k": [\n            1\n        ]\n    }\n}\n'),
        (
            '{\r\n\t"a": {}\r\n}',
            ("a",),
            '{\r\n\t"a": {\r\n\t\t"n": {\r\n\t\t\t"k": [\r\n\t\t\t\t1\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}',
        ),
        ('{\n  "a": [1, 2]\n}', ("a",), '{\n  "a": [1, 2, {"k": [1]}]\n}'),
        ('{\n  "a": 1,\n\n  "b": 2\n}', (), '{\n  "a": 1,\n\n  "b": 2,\n  "n": {\n    "k": [\n      1\n    ]\n  }\n}'),
        ('\ufeff{"a": {}}', ("a",), '\ufeff{"a": {"n": {"k": [1]}}}'),
    ],
)
def test_what_is_added_is_laid_out_as_its_neighbours_are(before: str, path: tuple[str, ...], after: str) -> None:
    assert added(before, *path) == after


def test_what_is_added_keeps_its_characters() -> None:
    text = '{"a": "\\u00eb"}'
    root = parse(text)
    assert jsonedit.add_member(text, root, root, "Zoë", "ë") == '{"a": "\\u00eb", "Zoë": "ë"}'


LENIENT = Dialect(comments=True, trailing_commas=True)


@given(layouts(OBJECTS, comments=True, commas=True), TEXTS, VALUES, st.data())
def test_adding_beside_comments_and_removing_again(text: str, key: str, value: Any, data: st.DataObject) -> None:
    root = parse(text, LENIENT)
    container = draw_container(data, root, dict)
    assume(key not in container.value)
    after = jsonedit.add_member(text, root, container, key, value)
    grown = next(node for node in containers(parse(after, LENIENT), dict) if node.start == container.start)
    assert grown.value == container.value | {key: value}
    assert list(grown.value) == [*container.value, key]
    assert is_edit_within(text, after, container.start + 1, container.end - 1)
    back = jsonedit.remove(after, grown, len(grown.children) - 1)
    assert parse(back, LENIENT).value == root.value
    if container.children and not COMMENT.search(text[container.children[-1].node.end : container.end]):
        assert back == text


@given(layouts(st.lists(VALUES, min_size=1, max_size=4), comments=True, commas=True), st.data())
def test_removing_leaves_every_comment_but_those_inside(text: str, data: st.DataObject) -> None:
    root = parse(text, LENIENT)
    index = data.draw(st.integers(0, len(root.children) - 1))
    child = root.children[index]
    after = jsonedit.remove(text, root, index)
    assert parse(after, LENIENT).value == root.value[:index] + root.value[index + 1 :]
    assert len(after) <= len(text) - (child.node.end - child.start) + 2
    assert is_edit_within(text, after, root.start + 1, root.end - 1)
    outside = COMMENT.findall(without_strings(text[: child.start] + text[child.node.end :]))
    assert COMMENT.findall(without_strings(after)) == outside


def without_strings(text: str) -> str:
    """A text whose strings are empty, so that nothing in them looks like a comment."""
    return re.sub(r'(//[^\r\n]*|/\*(?s:.*?)\*/)|"(?:[^"\\]|\\.)*"', lambda found: found[1] or '""', text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{ // mine\n}", '{ // mine\n  "n": {\n    "k": [\n      1\n    ]\n  }\n}'),
        (
            '{\n  "a": 1 // about a\n}',
            '{\n  "a": 1, // about a\n  "n": {\n    "k": [\n      1\n    ]\n  }\n}',
        ),
        (
            '{\n  "a": 1, // about a\n  /* the end */\n}',
            '{\n  "a": 1, // about a\n  /* the end */\n  "n": {\n    "k": [\n      1\n    ]\n  },\n}',
        ),
        ('{"a": 1 /* one */}', '{"a": 1, /* one */ "n": {"k": [1]}}'),
    ],
)
def test_comments_stay_beside_what_they_are_about(before: str, after: str) -> None:
    root = parse(before, LENIENT)
    assert jsonedit.add_member(before, root, root, "n", {"k": [1]}) == after
    grown = parse(after, LENIENT)
    assert jsonedit.remove(after, grown, len(grown.children) - 1) == before
