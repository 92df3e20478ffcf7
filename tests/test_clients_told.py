"""What Codex, Gemini CLI and Qwen Code tell their hooks, word for word as seen, and what is understood of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kit import Machine, child

from gate import silent
from gate.clients import codex, gemini, is_script, qwen
from gate.clock import Clock
from gate.ledger import Record, ended_text, parse
from gate.liveness import Owner, Place, read_command, read_stat
from gate.output import context
from gate.project import find_project
from gate.sessions import handed_over
from gate.site import Look, Site

CODEX = (  # 0.171.0
    '{"session_id":"01a22e49-a9ae-7ff2-a304-58938456ef39","transcript_path":"/h/.codex/sessions/2026/11/30/rollout-2026'
    '-11-30T21-08-29-01a22e49-a9ae-7ff2-a304-58938456ef39.jsonl","cwd":"/h/proj/sub","hook_event_name":"SessionStart","m'
    'odel":"fake-model","permission_mode":"bypassPermissions","source":"startup"}'
)
GEMINI = (  # 0.61.0
    '{"session_id":"36f68f13-9e6f-4236-9f03-07cd37d9ebd4","transcript_path":"/h/.gemini/tmp/proj/chats/session-2026-11-3'
    '0T21-29-36f68f13.jsonl","cwd":"/h/proj/sub","hook_event_name":"SessionStart","timestamp":"2026-11-30T21:29:11.815Z"'
    ',"source":"startup"}'
)
QWEN = (  # 0.24.4
    '{"session_id":"a63552a6-7f06-42de-9ea3-23731feb00dc","transcript_path":"/h/.qwen/projects/-h-proj/chats/a63552a6-7f'
    '06-42de-9ea3-23731feb00dc.jsonl","cwd":"/h/proj/sub","hook_event_name":"SessionStart","timestamp":"2026-11-30T21:50'
    ':49.041Z","permission_mode":"yolo","source":"startup","model":"fake"}'
)
ALL = [(codex, CODEX), (gemini, GEMINI), (qwen, QWEN)]


@pytest.mark.parametrize(("client", "told"), ALL, ids=["codex", "gemini", "qwen"])
def test_a_start_is_read(client: ModuleType, told: str) -> None:
    payload = json.loads(told)
    event = client.read_event(payload, {})
    assert (event.name, event.session) == ("SessionStart", payload["session_id"])
    assert event.directories == ["/h/proj/sub"]
    assert (event.source, event.reason, event.subagent) == ("startup", "", False)
    assert event.transcript == payload["transcript_path"]


@pytest.mark.parametrize(
    ("client", "told"),
    [
        (codex, '{"session_id":"s","transcript_path":null,"cwd":"/p","hook_event_name":"SessionEnd","reason":"other"}'),
        (gemini, '{"session_id":"s","transcript_path":"","cwd":"/p","hook_event_name":"SessionEnd","reason":"exit"}'),
        (qwen, '{"session_id":"s","cwd":"/p","hook_event_name":"SessionEnd","reason":"prompt_input_exit"}'),
    ],
    ids=["codex", "gemini", "qwen"],
)
def test_an_end_is_read(client: ModuleType, told: str) -> None:
    payload = json.loads(told)
    event = client.read_event(payload, {})
    assert (event.name, event.session, event.transcript) == ("SessionEnd", "s", "")
    assert (event.source, event.reason) == ("", payload["reason"])


@pytest.mark.parametrize(("client", "told"), ALL, ids=["codex", "gemini", "qwen"])
def test_only_where_the_model_still_has_the_old_text_is_a_conversation_resumed(client: ModuleType, told: str) -> None:
    event = client.read_event(json.loads(told) | {"source": "resume"}, {})
    assert event.source == ("resume" if client is codex else "startup")
    assert client.read_event(json.loads(told) | {"source": "clear"}, {}).source == "clear"


@pytest.mark.parametrize("client", [codex, gemini, qwen], ids=["codex", "gemini", "qwen"])
def test_an_answer_has_just_the_keys_that_the_client_takes(client: ModuleType) -> None:
    assert client.render_start("", "line") == ""
    assert json.loads(client.render_start("text\n\U0001f600", "line")) == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "text\n\U0001f600"},
        "systemMessage": "line",
    }


@pytest.mark.parametrize(
    ("words", "shared"),
    [
        ("codex app-server --listen unix:// --analytics-default-enabled --managed-daemon", True),
        ("codex -c a=b app-server", True),
        ("codex mcp-server", True),
        ("codex exec hi", False),
        ("codex", False),
        ("", False),
    ],
)
def test_a_program_that_serves_many_sessions_is_known_by_its_command(words: str, shared: bool) -> None:
    assert codex.is_shared(words.split()) is shared


@pytest.mark.parametrize(
    ("path", "client"),
    [
        ("bin/gemini", gemini),
        ("lib/node_modules/@google/gemini-cli/bundle/gemini.js", gemini),
        ("bin/qwen", qwen),
        ("lib/node_modules/@qwen-code/qwen-code/cli.js", qwen),
        ("bin/other", None),
    ],
)
def test_a_client_that_is_a_script_is_known_by_the_script(tmp_path: Path, path: str, client: ModuleType | None) -> None:
    """Its process is called `node`."""
    script = tmp_path / path
    script.parent.mkdir(parents=True)
    script.write_text("print(1, flush=True); input()")
    node = tmp_path / "node"
    node.symlink_to(sys.executable)
    with child(node, "-B", script) as process:
        stat = read_stat(process.pid)
        assert stat is not None
        assert (stat.pid, stat.name) == (process.pid, "node")
        assert read_command(process.pid)[1:] == ["-B", str(script)]
        assert [each for each in (gemini, qwen) if each.is_client(stat)] == ([client] if client else [])
        assert not is_script(stat, "python3")
    assert read_command(2**22 + 1) == []


def record(number: int, shared: bool) -> Record:
    place = Place("host", "boot", "namespace")
    return Record(f"s{number}", "codex", Owner(77, 5, shared), place, 1.0, 1.0, "/w", ended=2.0)


def test_a_shared_owner_is_remembered_as_one() -> None:
    read = parse(json.dumps(record(1, shared=True).to_json()).encode())
    assert read.owner is not None
    assert read.owner.shared
    read = parse(json.dumps(record(1, shared=False).to_json()).encode())
    assert read.owner is not None
    assert not read.owner.shared


@pytest.mark.parametrize("shared", [True, False])
def test_a_clear_takes_over_what_its_owner_had_unless_it_is_shared(shared: bool) -> None:
    """Of two terminals in one daemon the second one's /clear says nothing of the first one's session."""
    other, mine = record(1, shared), record(2, shared)
    look = Look(None, [other, mine], [], 0.0)
    assert handed_over(look, mine, "clear") == ([] if shared else [other])


def test_an_end_in_a_shared_owner_is_no_matter_of_the_owners() -> None:
    assert ended_text(record(1, shared=False)).split()[1:] == ["77", "5"]
    assert ended_text(record(1, shared=True)).split()[1:] == []


def test_a_text_is_no_longer_than_the_client_surely_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: Machine
) -> None:
    """Codex cuts the middle out of what has more than 10,000 bytes, and a character has up to 4."""
    machine.config.write_text("inject_limit = 10000\n")
    environ = machine.environ
    limits: list[int] = []

    def compose(*arguments: Any) -> tuple[str, str]:
        limits.append(arguments[6])
        return "", ""

    monkeypatch.setattr(context, "compose", compose)
    monkeypatch.setattr(silent, "_out", 99)  # standard output stays the test's
    for client in (codex, gemini):
        site = Site(find_project(str(tmp_path)), environ, Clock(1_780_000_000.0, "boot"), str(tmp_path / client.NAME))
        silent.start(site, client, client.read_event({"session_id": "s", "cwd": str(tmp_path)}, {}))
        machine.settle()
    assert limits == [codex.MOST, 10_000]
    assert codex.MOST * 4 < 10_000
