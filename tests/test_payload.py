"""What clients write to a hook: read in any pieces, and whatever it is, nothing is raised and nobody waits."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import payload
from gate.clients import NAMES, Event, claude, shell

START = {
    "session_id": "0d0e2a4c-1111-2222-3333-444455556666", "transcript_path": "/h/.claude/projects/p/0d0e.jsonl",
    "cwd": "/w/project", "hook_event_name": "SessionStart", "source": "startup", "model": "m",
}  # fmt: skip
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = (*START, "reason", "agent_id", "prompt")
OBJECTS = st.dictionaries(st.sampled_from(KEYS) | st.text(st.characters(), max_size=9), JSON, max_size=6)


def is_json(value: Any) -> bool:
    """Whether it holds no number that is none, as Python writes it all the same."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def piped(chunks: list[bytes], patience: float = 20.0, closes: bool = True) -> dict[str, Any]:
    """What is read of a pipe into which these are written, one by one."""
    read_end, write_end = os.pipe()
    done = threading.Event()

    def write() -> None:
        for chunk in chunks:
            os.write(write_end, chunk)
            time.sleep(0)
        if not closes:
            done.wait(20)
        os.close(write_end)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        return payload.read(read_end, patience)
    finally:
        done.set()
        thread.join()
        os.close(read_end)


@given(OBJECTS)
def test_any_object_is_read_as_it_was_written(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    if not is_json(value):
        assert payload.parse(text.encode()) == {}
    else:
        assert payload.parse(text.encode()) == value
        assert payload.parse(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) == value
        assert payload.parse(b"\xef\xbb\xbf" + text.encode() + b"\n") == value


@given(st.binary() | JSON.map(json.dumps).map(str.encode))
def test_anything_else_is_none(data: bytes) -> None:
    found = payload.parse(data)
    assert isinstance(found, dict)
    assert not found or data.strip().startswith((b"{", b"\xef\xbb\xbf"))


@pytest.mark.parametrize("begin", range(0, len(json.dumps(START)), 7))
def test_a_part_is_none(begin: int) -> None:
    text = json.dumps(START).encode()
    assert payload.parse(text[:begin]) == {}
    assert begin == 0 or payload.parse(text[begin:]) == {}


@given(st.lists(st.integers(1, 40), max_size=12), st.booleans())
def test_it_is_read_in_any_pieces_and_its_end_is_not_waited_for(cuts: list[int], closes: bool) -> None:
    text = json.dumps({**START, "nested": {"a": {}}}).encode()
    chunks, at = [], 0
    for cut in cuts:
        chunks.append(text[at : at + cut])
        at += cut
    chunks = [chunk for chunk in (*chunks, text[at:], b"" if closes else b"\n") if chunk]
    began = time.monotonic()
    assert piped(chunks, closes=closes)["session_id"] == START["session_id"]
    assert time.monotonic() - began < 15, "a client may keep the stream open"


@pytest.mark.parametrize("text", [b"", b"{", b'{"a": 1', b"null", b"}" * 9, b"[1]", b'"{}"', b"{}"])
def test_what_does_not_come_is_waited_for_once(text: bytes) -> None:
    assert piped([text] if text else [], patience=0.2, closes=False) == {}
    assert piped([text] if text else []) == {}


def test_what_has_no_end_is_not_read_to_its_end() -> None:
    with open("/dev/zero", "rb") as file:
        assert payload.read(file.fileno(), 20.0) == {}
    with open(os.devnull, "rb") as file:
        assert payload.read(file.fileno(), 20.0) == {}
    assert payload.read(10_000, 20.0) == {}


ENVIRONMENTS = st.dictionaries(
    st.sampled_from(
        ["CLAUDE_PID", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR", "HOME", "CLAUDE_ENV_FILE",
         "SESSION_GATE_SHELL", "SESSION_GATE_DIRECTORY"]
    ),
    st.text(st.characters(exclude_characters="\0"), max_size=20),
)  # fmt: skip


@given(OBJECTS, ENVIRONMENTS)
def test_any_payload_is_an_event_of_texts(value: dict[str, Any], environ: dict[str, str]) -> None:
    for client in (claude, shell):
        assert client.NAME in NAMES
        event = client.read_event(value, environ)
        assert isinstance(event, Event)
        parts = (event.name, event.session, event.source, event.reason, event.transcript, *event.directories)
        assert all(isinstance(part, str) for part in parts)
        assert all(event.directories)
        assert client.named_owner(environ) is None or client.named_owner(environ) < 10**9
        assert client.recorded_owner(environ, event.session) is None


@given(st.text(st.characters()), st.text(st.characters()))
def test_what_a_client_is_shown_comes_back_from_its_form(text: str, line: str) -> None:
    rendered = claude.render_start(text, line)
    assert rendered == "" if not text else rendered.isascii()
    if text:
        value = json.loads(rendered)
        assert value["hookSpecificOutput"]["additionalContext"] == text
        assert value["systemMessage"] == line
        assert rendered.count("\n") == 1
    assert shell.render_start(text, line) == (text + "\n" if text else "")
