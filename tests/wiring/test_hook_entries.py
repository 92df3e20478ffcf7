"""The gate's entries in settings of every shape and layout: put in, brought up to date, taken out."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_layouts import OBJECTS, TEXTS, VALUES, layouts

from gate.clients import claude
from gate.wiring import hook_entries
from gate.wiring.change import ADDED, ALREADY, NOTHING, REMOVED, UPDATED, Plan
from gate.wiring.hook_entries import FILE
from gate.wiring.jsontree import JsonError, parse

LINES = {
    "SessionStart": ": session-gate hook start --client claude; p='/Zoë/bin/python'; exit 0",
    "SessionEnd": ": session-gate hook end --client claude; exit 0",
}
WANTED = {event: {"type": "command", "command": line, "timeout": 10} for event, line in LINES.items()}
OLD = {"SessionStart": "/old/gate hook start --client claude", "SessionEnd": "/old/gate hook end --client claude"}

FOREIGN = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.sampled_from(["notify", "gate status", "echo 'gate hook'"])},
    optional={"timeout": st.integers(1, 60), "async": st.booleans()},
)
GROUPS = st.fixed_dictionaries({"hooks": st.lists(FOREIGN, max_size=3)}, optional={"matcher": TEXTS})
EVENTS = st.sampled_from(["SessionStart", "SessionEnd", "Stop", "PreToolUse"])
HOOKS = st.dictionaries(EVENTS, st.lists(GROUPS, max_size=3), max_size=4)
OTHER_SETTINGS = OBJECTS.map(lambda value: {key: inner for key, inner in value.items() if key != "hooks"})


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    """Somebody's settings, with hooks of theirs or without."""
    value = draw(OTHER_SETTINGS)
    if draw(st.booleans()):
        value["hooks"] = draw(HOOKS)
    return value


def loads(text: str | None) -> Any:
    assert text is not None
    return json.loads(text.removeprefix("\ufeff"))


def with_ours(value: Any) -> Any:
    expected = copy.deepcopy(value)
    for event, hook in WANTED.items():
        expected.setdefault("hooks", {}).setdefault(event, []).append({"hooks": [hook]})
    return expected


@given(layouts(settings()))
def test_installing_adds_our_entries_and_changes_nothing_else(text: str) -> None:
    plan = hook_entries.install(claude, text, LINES)
    assert loads(plan.text) == with_ours(loads(text))
    assert dict(plan.done) == dict.fromkeys(LINES, ADDED)
    # All that stood there stands there still, in its order: only insertions were made.
    left = iter(plan.text or "")
    kept = text.replace(" ", "").replace("\n", "").replace("\r", "").replace("\t", "")
    assert all(character in left for character in kept)


@given(layouts(settings()))
def test_installing_again_changes_nothing(text: str) -> None:
    once = hook_entries.install(claude, text, LINES)
    again = hook_entries.install(claude, once.text or "", LINES, once.made)
    assert again.text == once.text
    assert dict(again.done) == dict.fromkeys(LINES, ALREADY)
    assert set(again.made) == set(once.made)


@given(layouts(settings()))
def test_uninstalling_takes_out_what_was_put_in(text: str) -> None:
    once = hook_entries.install(claude, text, LINES)
    back = hook_entries.uninstall(claude, once.text or "", once.made)
    assert loads(back.text) == loads(text)
    assert dict(back.done) == dict.fromkeys(LINES, REMOVED)
    was_empty = [node for node in _containers(parse(text)) if not node.children and node.end - node.start > 2]
    if not was_empty:
        assert back.text == text
    assert hook_entries.uninstall(claude, text, once.made).text == text


def _containers(root: Any) -> list[Any]:
    hooks = root.get("hooks")
    events = [child.node for child in hooks.children] if hooks is not None else []
    return [root, *([hooks] if hooks is not None else []), *events]


@given(layouts(settings()), TEXTS, VALUES)
def test_what_somebody_changed_since_stays(text: str, key: str, value: Any) -> None:
    installed = loads(hook_entries.install(claude, text, LINES).text)
    made = hook_entries.install(claude, text, LINES).made
    changed = {key if key != "hooks" else "other": value} | installed
    back = hook_entries.uninstall(claude, json.dumps(changed, indent=2), made)
    assert loads(back.text) == {key if key != "hooks" else "other": value} | loads(text)


def old_entries(**more: Any) -> dict[str, Any]:
    hooks = {event: {"type": "command", "command": line} | more for event, line in OLD.items()}
    return {
        "hooks": {event: [{"hooks": [{"type": "command", "command": "notify"}, hook]}] for event, hook in hooks.items()}
    }


@given(layouts(st.sampled_from([old_entries(), old_entries(timeout=60), old_entries(timeout=10, **{"async": True})])))
def test_an_older_entry_is_brought_up_to_date_where_it_stands(text: str) -> None:
    plan = hook_entries.install(claude, text, LINES)
    foreign = {"type": "command", "command": "notify"}
    assert loads(plan.text) == {"hooks": {event: [{"hooks": [foreign, WANTED[event]]}] for event in LINES}}
    assert dict(plan.done) == dict.fromkeys(LINES, UPDATED)


def test_an_entry_without_a_shell_becomes_the_line() -> None:
    hook = {"type": "command", "command": "/old/gate", "args": ["hook", "start", "--client", "claude"]}
    plan = hook_entries.install(claude, json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}), LINES)
    assert loads(plan.text)["hooks"]["SessionStart"] == [{"hooks": [WANTED["SessionStart"]]}]


def test_doubled_entries_become_one_and_useless_ones_go() -> None:
    ours = {"type": "command", "command": OLD["SessionStart"]}
    end = {"type": "command", "command": OLD["SessionEnd"]}
    foreign = {"type": "command", "command": "notify"}
    value = {
        "hooks": {
            "SessionStart": [{"hooks": [end, foreign]}, {"matcher": "startup", "hooks": [ours]}, {"hooks": [ours]}],
            "Stop": [{"hooks": [end]}, {"hooks": [foreign]}],
        }
    }
    plan = hook_entries.install(claude, json.dumps(value, indent=2), LINES)
    assert loads(plan.text)["hooks"] == {
        "SessionStart": [{"hooks": [foreign]}, {"matcher": "startup", "hooks": [WANTED["SessionStart"]]}],
        "Stop": [{"hooks": [foreign]}],
        "SessionEnd": [{"hooks": [WANTED["SessionEnd"]]}],
    }
    assert dict(plan.done) == {"SessionStart": UPDATED, "SessionEnd": ADDED, "Stop": REMOVED}


def test_a_missing_or_empty_file_becomes_a_document_and_goes_again() -> None:
    for text in ("", "\ufeff", " \n"):
        plan = hook_entries.install(claude, text, LINES)
        assert loads(plan.text) == with_ours({})
        assert (plan.text or "").endswith("}\n")
        assert (plan.text or "").startswith("\ufeff") is text.startswith("\ufeff")
        assert hook_entries.uninstall(claude, plan.text or "", (*plan.made, FILE)).text is None
        assert loads(hook_entries.uninstall(claude, plan.text or "", plan.made).text) == {}
        assert hook_entries.uninstall(claude, text, None) == Plan(text, dict.fromkeys(LINES, NOTHING))


def test_a_file_made_for_the_hooks_stays_once_it_holds_something_else() -> None:
    plan = hook_entries.install(claude, "", LINES)
    text = (plan.text or "").replace('{\n  "hooks"', '{\n  "model": "opus",\n  "hooks"', 1)
    assert hook_entries.uninstall(claude, text, (*plan.made, FILE)).text == '{\n  "model": "opus"\n}\n'


def test_where_it_is_not_known_who_made_a_container_an_emptied_one_goes() -> None:
    text = hook_entries.install(claude, '{"a": 1}', LINES).text
    assert hook_entries.uninstall(claude, text or "", None).text == '{"a": 1}'
    kept = hook_entries.install(claude, '{"hooks": {"SessionStart": []}}', LINES)
    assert hook_entries.uninstall(claude, kept.text or "", kept.made).text == '{"hooks": {"SessionStart": []}}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "line 1: an object is expected here"),
        ('{\n"hooks": []}', "line 2: hooks: an object is expected here"),
        ('{"hooks": null}', "line 1: hooks: an object is expected here"),
        ('{"hooks": {\n"SessionStart": {}}}', "line 2: hooks.SessionStart: a list is expected here"),
        ('{"hooks": {"SessionEnd": ["gate"]}}', "line 1: hooks.SessionEnd: an object is expected here"),
        ('{"hooks": {"SessionEnd": [{"matcher": ""}]}}', 'line 1: hooks.SessionEnd: a group without "hooks"'),
        ('{"hooks": {"SessionEnd": [{"hooks": {}}]}}', "line 1: hooks.SessionEnd: hooks: a list is expected here"),
        ('{"hooks": {"SessionEnd": [{"hooks": ["x"]}]}}', "line 1: hooks.SessionEnd: an object is expected here"),
        ('{"hooks": {},\n "hooks": {}}', "line 2: hooks stands there twice"),
        ('{"hooks": {"Stop": [],\n "Stop": []}}', "line 2: hooks.Stop stands there twice"),
        (
            '{"hooks": {"SessionEnd": [{"hooks": [{"command": "a",\n"command": "b"}]}]}}',
            "line 2: hooks.SessionEnd: command stands there twice",
        ),
        ('{"a": 1,}', "line 1: a comma before the closing bracket, which JSON does not allow"),
    ],
)
def test_a_shape_that_is_not_known_is_refused_with_its_line(text: str, problem: str) -> None:
    for attempt in (
        lambda: hook_entries.install(claude, text, LINES),
        lambda: hook_entries.uninstall(claude, text, None),
    ):
        with pytest.raises(JsonError) as caught:
            attempt()
        assert str(caught.value) == problem


def test_other_events_may_have_any_shape() -> None:
    text = '{"hooks": {"Later": {"when": "now"}, "Odd": ["x", {"hooks": 1}, {"hooks": [1, {"command": 2}]}]}}'
    plan = hook_entries.install(claude, text, LINES)
    assert loads(plan.text) == with_ours(loads(text))
    assert hook_entries.uninstall(claude, plan.text or "", plan.made).text == text


def test_entries_say_where_they_stand_and_what_restricts_them() -> None:
    value = old_entries(timeout=5)
    value["hooks"]["SessionStart"][0]["matcher"] = "resume"
    value["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "x; gate hook end --client claude"}]}]
    root = parse(json.dumps(value))
    start, end = hook_entries.entries(claude, root)
    assert (start.event, start.boundary, start.command) == ("SessionStart", "start", OLD["SessionStart"])
    assert (start.timeout, start.matcher, end.matcher) == (5, "resume", None)
    assert start.calls("SessionStart", "start")
    assert not start.calls("SessionEnd", "end")
    assert hook_entries.strangers(claude, root) == ["x; gate hook end --client claude"]
