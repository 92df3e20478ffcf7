"""Which client really calls a hook, and what is made of its payload. The payloads are literal: Copilot CLI's were seen
with 1.0.102, Claude Code's with 2.1.332; Cursor's and Droid's are their documentation's.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kit import PYTHON, SILENT, Client, Machine, green

from gate.clients import calling, claude, copilot, cursor, droid, opencode

ID = "7a387e60-5b8f-4162-a453-57300a78f687"
CLAUDE = {
    "session_id": ID,
    "transcript_path": f"/home/me/.claude/projects/-home-me-app/{ID}.jsonl",
    "cwd": "/home/me/app",
    "hook_event_name": "SessionStart",
    "source": "startup",
}
COPILOT = {
    "sessionId": ID,
    "timestamp": 1796073050830,
    "cwd": "/home/me/app",
    "source": "new",
    "initialPrompt": "hello",
}
COPILOT_PROMPT = {"sessionId": ID, "timestamp": 1796073306259, "cwd": "/home/me/app", "prompt": "second"}
COPILOT_END = {"sessionId": ID, "timestamp": 1796073075174, "cwd": "/home/me/app", "reason": "user_exit"}
COPILOT_PASCAL = {
    "hook_event_name": "SessionStart",
    "session_id": ID,
    "timestamp": "2026-11-30T21:08:37.826Z",
    "cwd": "/home/me/app",
    "source": "new",
    "initial_prompt": "hello",
}
COPILOT_PASCAL_END = {
    "hook_event_name": "SessionEnd",
    "session_id": ID,
    "timestamp": "2026-11-30T21:08:39.111Z",
    "cwd": "/home/me/app",
    "reason": "complete",
}
CURSOR = {
    "conversation_id": ID,
    "generation_id": "490b90b7-a2ce-4c2c-bb76-cb77b125df2f",
    "model": "some-model",
    "hook_event_name": "sessionStart",
    "cursor_version": "2.4.0",
    "workspace_roots": ["/home/me/app", "/home/me/other"],
    "user_email": None,
    "transcript_path": None,
    "session_id": ID,
    "is_background_agent": False,
    "composer_mode": "agent",
}
DROID = {
    "session_id": ID,
    "transcript_path": "/home/me/.factory/sessions/x.jsonl",
    "cwd": "/home/me/app",
    "permission_mode": "default",
    "hook_event_name": "SessionStart",
    "source": "startup",
}
TRIAL = {"hook_event_name": "SessionGateTrial"}


@pytest.mark.parametrize(
    ("named", "payload", "environ", "really"),
    [
        ("claude", CLAUDE, {"CLAUDECODE": "1"}, "claude"),
        ("claude", CLAUDE, {"CLAUDECODE": "1", "COPILOT_CLI": "1"}, "claude"),  # started by Copilot's shell tool
        ("claude", CLAUDE, {"CLAUDECODE": "1", "CURSOR_VERSION": "2.4.0"}, "claude"),  # in Cursor's terminal
        ("claude", COPILOT_PASCAL, {"COPILOT_CLI": "1"}, "copilot"),
        ("claude", COPILOT_PASCAL_END, {"COPILOT_CLI": "1"}, "copilot"),
        ("claude", COPILOT_PASCAL, {"COPILOT_CLI": "1", "CLAUDECODE": "1"}, "copilot"),  # started by Claude Code's
        ("claude", COPILOT, {}, "copilot"),
        ("claude", CURSOR, {"CURSOR_VERSION": "2.4.0"}, "cursor"),
        ("claude", CURSOR, {"CURSOR_VERSION": "2.4.0", "CLAUDECODE": "1", "COPILOT_CLI": "1"}, "cursor"),
        ("claude", {}, {}, "claude"),
        ("claude", {}, {"COPILOT_CLI": "1"}, "copilot"),
        ("claude", {}, {"CURSOR_VERSION": "2.4.0"}, "cursor"),
        ("claude", {}, {"COPILOT_CLI": "1", "CLAUDECODE": "1"}, "claude"),
        ("claude", TRIAL, {"COPILOT_CLI": "1"}, "claude"),
        ("copilot", CLAUDE, {"CLAUDECODE": "1"}, "copilot"),  # nobody else reads another one's settings
        ("codex", COPILOT_PASCAL, {"COPILOT_CLI": "1"}, "codex"),
        ("gemini", {**CLAUDE, "timestamp": "2026-11-30T21:08:39.111Z"}, {}, "gemini"),
    ],
)
def test_who_calls(named: str, payload: Mapping[str, Any], environ: Mapping[str, str], really: str) -> None:
    assert calling(named, payload, environ) == really


@pytest.mark.parametrize(
    ("payload", "name", "source", "reason"),
    [
        (COPILOT, "sessionStart", "startup", ""),
        (COPILOT | {"source": "resume"}, "sessionStart", "resume", ""),
        (COPILOT_PASCAL, "SessionStart", "startup", ""),
        (COPILOT_END, "sessionEnd", "", "user_exit"),
        (COPILOT_PASCAL_END, "SessionEnd", "", "complete"),
        (COPILOT_PROMPT, "userPromptSubmitted", "", ""),
    ],
)
def test_both_spellings_of_copilot(payload: Mapping[str, Any], name: str, source: str, reason: str) -> None:
    # What an outer Copilot's shell tool sets is not this session's.
    event = copilot.read_event(payload, {"COPILOT_PROJECT_DIR": "/home/me", copilot.SESSION_VARIABLE: "outer"})
    assert (event.name, event.session, event.source, event.reason) == (name, ID, source, reason)
    assert event.directories == ["/home/me/app", "/home/me"]
    assert event.unheard == (payload.get("source") == "resume")
    assert event.prompt == ("prompt" in payload)


def test_what_is_no_event_of_a_session_is_none() -> None:
    stopped = {"sessionId": ID, "timestamp": 1, "cwd": "/", "transcriptPath": "/x", "stopReason": "end_turn"}
    assert copilot.read_event(stopped, {}).name == "another"
    assert copilot.read_event({}, {}).name == ""
    for client in (claude, copilot, cursor, droid, opencode):
        event = client.read_event(TRIAL, {})
        assert (event.name, event.prompt) == ("SessionGateTrial", False)


def test_the_events_of_cursor_and_droid() -> None:
    event = cursor.read_event(CURSOR, {"CURSOR_PROJECT_DIR": "/home/me/third", "CLAUDE_PROJECT_DIR": "/home/me/third"})
    assert (event.name, event.session, event.transcript) == ("sessionStart", ID, "")
    assert event.directories == ["/home/me/app", "/home/me/third"]
    assert cursor.read_event({**CURSOR, "workspace_roots": []}, {}).directories == []
    assert cursor.read_event({**CURSOR, "workspace_roots": "/home/me/app", "cwd": "/x"}, {}).directories == ["/x"]
    event = droid.read_event(DROID, {"FACTORY_PROJECT_DIR": "/home/me/app"})
    assert (event.name, event.session, event.source) == ("SessionStart", ID, "startup")


def test_the_form_that_each_takes() -> None:
    assert json.loads(copilot.render_start("TEXT", "LINE")) == {"additionalContext": "TEXT"}
    assert json.loads(cursor.render_start("TEXT", "LINE")) == {"additional_context": "TEXT"}
    assert json.loads(opencode.render_start("TEXT", "LINE")) == {"additionalContext": "TEXT", "systemMessage": "LINE"}
    said = {"hookEventName": "SessionStart", "additionalContext": "TEXT"}
    assert json.loads(droid.render_start("TEXT", "LINE")) == {"hookSpecificOutput": said, "systemMessage": "LINE"}
    assert {client.render_start("", "") for client in (copilot, cursor, opencode, droid)} == {""}


def test_the_process_that_copilot_wrote_down(tmp_path: Path) -> None:
    import fcntl

    directory = tmp_path / "session-state" / ID
    directory.mkdir(parents=True)
    for pid in ("11", "222", "x"):
        (directory / f"inuse.{pid}.lock").write_text(pid)
        (directory / f"inuse.{pid}.hold").touch()
    environ = {"COPILOT_HOME": str(tmp_path)}
    assert copilot.recorded_owner(environ, ID) is None  # what a kill left
    with (directory / "inuse.222.hold").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert copilot.recorded_owner(environ, ID) == 222
    assert copilot.recorded_owner(environ, "../session-state/" + ID) is None
    assert copilot.recorded_owner(environ, "") is None


def test_the_plugins_text_holds_the_lines_as_they_are() -> None:
    lines = {"start": """: session-gate hook start; o='a "b" \\n ${c}'""", "end": ": session-gate hook end"}
    text = opencode.own_file(lines, "session-gate: a title")
    assert text.startswith("// session-gate: a title\n")
    assert f"const START = {json.dumps(lines['start'])}\n" in text
    assert f"const END = {json.dumps(lines['end'])}\n" in text
    assert "@" not in text


class Program(Client):
    """A process called like a client's program, whose hooks are called with that client's payloads."""

    def __init__(self, machine: Machine, cwd: Path, program: str, **environ: str) -> None:
        self.machine = machine
        self.cwd = cwd
        path = machine.directory / "bin" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text('#!/bin/sh\nwhile read -r line; do eval "$line"; echo "<$?>"; done\n')
        path.chmod(0o755)
        self.process = subprocess.Popen(
            [path], cwd=cwd, env=machine.environ | environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def call(self, boundary: str, named: str, payload: Mapping[str, Any], more: str = "") -> list[Any]:
        """Let it call a hook that was installed for `named`; what it answers. `more` calls another one at once."""
        file = self.machine.directory / f"payload-{self.process.pid}.json"
        file.write_text(json.dumps(payload))
        hook = f"{PYTHON} -I -S {SILENT} {boundary} --client {named} < {file}"
        return [json.loads(line) for line in self.shell(f"{hook}{more}").splitlines() if line.strip()]


@pytest.fixture
def programs(machine: Machine) -> Iterator[Any]:
    """Starts such processes, and ends those that a test leaves."""
    started: list[Program] = []

    def start(cwd: Path, program: str, **environ: str) -> Program:
        started.append(Program(machine, cwd, program, **environ))
        return started[-1]

    yield start
    for program in started:
        if program.process.poll() is None:
            program.kill()


def records(machine: Machine) -> list[Any]:
    return [json.loads(path.read_bytes()) for path in machine.records()]


def test_a_session_is_registered_and_told_once_whatever_hooks_it_runs(
    machine: Machine, project: Path, programs: Any
) -> None:
    """Copilot, with its own hooks and those in Claude Code's settings."""
    green(machine, project)
    (project / "left.txt").write_text("work\n")
    assert machine.text("end", cwd=project, code=1)
    client = programs(project, "copilot", COPILOT_CLI="1")
    (said,) = client.call("start", "copilot", COPILOT | {"cwd": str(project)})
    assert "left.txt" in said["additionalContext"]
    assert client.call("start", "claude", COPILOT_PASCAL | {"cwd": str(project)}) == []
    assert client.call("start", "copilot", COPILOT_PROMPT | {"cwd": str(project)}) == []
    (record,) = records(machine)
    assert (record["client"], record["session"], record["owner"]["pid"]) == ("copilot", ID, client.process.pid)
    assert client.call("end", "copilot", COPILOT_END | {"cwd": str(project)}) == []
    assert client.call("end", "claude", COPILOT_PASCAL_END | {"cwd": str(project)}) == []
    client.exit()
    machine.settle()
    assert records(machine) == []


@pytest.mark.parametrize("payload", [COPILOT_PASCAL, CURSOR], ids=["copilot", "cursor"])
def test_a_hook_of_claude_codes_answers_in_the_callers_form(
    machine: Machine, project: Path, programs: Any, payload: Mapping[str, Any]
) -> None:
    (project / "left.txt").write_text("work\n")
    client = programs(project, "cursor" if payload is CURSOR else "MainThread", CLAUDECODE="1")
    (said,) = client.call("start", "claude", {**payload, "cwd": str(project), "workspace_roots": [str(project)]}
                          if payload is CURSOR else {**payload, "cwd": str(project)})  # fmt: skip
    assert list(said) == ["additional_context" if payload is CURSOR else "additionalContext"]
    (record,) = records(machine)
    assert record["client"] == ("cursor" if payload is CURSOR else "copilot")
    assert record["owner"]["pid"] == client.process.pid


def test_a_resumed_copilot_is_told_by_its_prompt_once(machine: Machine, project: Path, programs: Any) -> None:
    """What the start's hook says is not heard; whether the prompt's comes before it or after."""
    green(machine, project)
    (project / "left.txt").write_text("work\n")
    assert machine.text("end", cwd=project, code=1)
    resumed, prompt = COPILOT | {"cwd": str(project), "source": "resume"}, COPILOT_PROMPT | {"cwd": str(project)}
    for calls in ([resumed, prompt, prompt], [prompt, resumed, prompt]):
        client = programs(project, "copilot")
        said = [client.call("start", "copilot", payload) for payload in calls]
        told = said.pop(calls.index(prompt))
        assert "left.txt" in told[0]["additionalContext"]
        assert said == [[], []]
        (record,) = records(machine)
        assert record["state"] == "open"
        assert client.call("end", "copilot", COPILOT_END | {"cwd": str(project)}) == []
        client.exit()
        machine.settle()


def test_hooks_at_once_make_one_record_and_one_text(machine: Machine, project: Path, programs: Any) -> None:
    """Copilot's hooks of a start and of its prompt run beside each other (seen)."""
    green(machine, project)
    (project / "left.txt").write_text("work\n")
    assert machine.text("end", cwd=project, code=1)
    prompt = machine.directory / "prompt.json"
    prompt.write_text(json.dumps(COPILOT_PROMPT | {"cwd": str(project)}))
    beside = f" & {PYTHON} -I -S {SILENT} start --client copilot < {prompt}; wait"
    for number in range(5):
        client = programs(project, "copilot")
        session = {"sessionId": f"{ID[:-1]}{number}", "cwd": str(project)}
        prompt.write_text(json.dumps(COPILOT_PROMPT | session))
        (said,) = client.call("start", "copilot", COPILOT | session, beside)
        assert "additionalContext" in said
        (record,) = records(machine)
        assert record["session"] == session["sessionId"]
        assert list(machine.state.glob("*/sessions/*.turn")) == []
        client.call("end", "copilot", COPILOT_END | session)
        client.exit()
        machine.settle()


def test_a_client_in_anothers_shell_is_a_session_of_its_own(machine: Machine, project: Path, programs: Any) -> None:
    """It inherits all of the outer one's variables."""
    green(machine, project)
    outer = programs(project, "claude")
    outer.call("start", "claude", CLAUDE | {"session_id": "outer", "cwd": str(project)})
    inherited = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "outer", "CLAUDE_PID": str(outer.process.pid)}
    inner = programs(project, "copilot", COPILOT_CLI="1", SESSION_GATE_SESSION="outer", **inherited)
    inner.call("start", "copilot", COPILOT | {"sessionId": "inner", "cwd": str(project)})
    inner.call("start", "claude", COPILOT_PASCAL | {"session_id": "inner", "cwd": str(project)})
    found = {record["session"]: (record["client"], record["owner"]["pid"]) for record in records(machine)}
    assert found == {"outer": ("claude", outer.process.pid), "inner": ("copilot", inner.process.pid)}


def test_a_prompt_costs_no_suite(machine: Machine, project: Path, programs: Any) -> None:
    """The hook of every prompt: once the session is known, nothing is looked at."""
    client = programs(project, "copilot")
    client.call("start", "copilot", COPILOT | {"cwd": str(project)})
    machine.settle()
    (path,) = machine.state.glob("*/marker.json")
    path.unlink()
    (project / "left.txt").write_text("work\n")
    assert client.call("start", "copilot", COPILOT_PROMPT | {"cwd": str(project)}) == []
    assert not path.exists()


def test_what_stood_before_clear_is_told_to_the_next_session_of_the_same_client(
    machine: Machine, project: Path, programs: Any
) -> None:
    """Copilot ends a session at once when its user says /clear, and begins the next one with the next prompt."""
    green(machine, project)
    client = programs(project, "copilot")
    client.call("start", "copilot", COPILOT | {"cwd": str(project)})
    client.shell("echo unfinished > left.txt")
    client.call("end", "copilot", COPILOT_END | {"cwd": str(project)})
    after = {"cwd": str(project), "sessionId": "after"}
    (said,) = client.call("start", "copilot", COPILOT | after)
    assert "left.txt" in said["additionalContext"]
    assert client.call("start", "copilot", COPILOT_PROMPT | after) == []
    client.call("end", "copilot", COPILOT_END | after)
    client.exit()
    machine.settle()
    assert records(machine) == []
    assert machine.verdict(project) == "debt"


def test_an_end_alone_is_that_of_a_session_without_a_prompt(machine: Machine, project: Path, programs: Any) -> None:
    green(machine, project)
    (project / "mine.txt").write_text("a person's own\n")
    client = programs(project, "copilot")
    assert client.call("end", "copilot", COPILOT_END | {"cwd": str(project)}) == []
    client.exit()
    machine.settle()
    assert records(machine) == []
    assert machine.verdict(project) == "green"
