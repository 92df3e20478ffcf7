"""`gate doctor` over every client: in which file, does the line start, is it shadowed, switched off, trusted."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from kit import GATE, Machine

from gate.clients import AGENTS
from gate.wiring import codex_hooks
from gate.wiring.client_settings import settings_path
from gate.wiring.clients import CLIENTS

CODEX = """#!{python} -I
import json, os, sys

known = json.loads(os.environ["TEST_HOOKS"])
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialize":
        print(json.dumps({{"id": request["id"], "result": {{"codexHome": "x"}}}}), flush=True)
        print("a line of a log", flush=True)
    if request["method"] == "hooks/list":
        (cwd,) = request["params"]["cwds"]
        hooks = [hook for hook in known if os.path.exists(hook["sourcePath"])]
        print(json.dumps({{"id": 1, "result": {{"data": [{{"cwd": cwd, "hooks": hooks}}]}}}}), flush=True)
"""
"""Answers as Codex 0.171.0 does (tests/clients asks the real one)."""


def settings_of(machine: Machine, name: str) -> Path:
    return Path(settings_path(CLIENTS[name], "user", machine.environ, ""))


def told(machine: Machine, project: Path, about: str, code: int, level: str = "") -> list[str]:
    value = machine.json("doctor", cwd=project, code=code)
    found = [answer for answer in value["answers"] if answer["about"] == about]
    assert all(answer["cure"] for answer in found if answer["level"] != "good")
    return [f"{answer['text']} {answer['cure']}".strip() for answer in found if level in ("", answer["level"])]


@pytest.mark.parametrize("name", AGENTS)
def test_what_is_installed_is_found_in_its_file_and_starts(bare: Machine, project: Path, name: str) -> None:
    bare.text("install", name, cwd=project)
    client, settings = CLIENTS[name], settings_of(bare, name)
    assert told(bare, project, name, 0) == [
        f"{event} calls the gate: user settings {settings}" for event, _, _ in client.HOOKS
    ]
    (fired,) = told(bare, project, "fired", 0)
    assert fired.startswith(f"{client.TITLE} has not yet called the start hook")
    text = settings.read_text()
    settings.write_text(text.replace(str(GATE.parent), "/nowhere"))
    if name in ("copilot", "opencode"):
        assert told(bare, project, name, 0, "warning") == [
            f"{settings} was not tried: this version writes another one gate install {name} --scope user"
        ]
    else:
        start, end = told(bare, project, name, 1, "problem")
        assert "does not start the gate: SESSION-GATE: did not run: /nowhere/" in start + end
        assert f"gate install {name} --scope user" in start


@pytest.mark.parametrize("name", AGENTS)
def test_two_installations_are_said(bare: Machine, project: Path, name: str) -> None:
    bare.environ["PATH"] += os.pathsep + str(GATE.parent)
    for scope in ("user", "project"):
        bare.text("install", name, "--scope", scope, cwd=project)
    said = [text.partition(",")[0] for text in told(bare, project, name, 0, "warning")]
    assert [text for text in said if "installed" in text] == [
        "the start hook is installed 2 times",
        "the end hook is installed 2 times",
    ]


def test_a_client_that_does_not_call_the_gate_is_a_problem_only_where_none_does(bare: Machine, project: Path) -> None:
    settings_of(bare, "gemini").parent.mkdir()
    assert told(bare, project, "gemini", 1, "problem") == [
        "no SessionStart hook calls the gate gate install gemini",
        "no SessionEnd hook calls the gate gate install gemini",
    ]
    bare.text("install", "claude", cwd=project)
    assert told(bare, project, "gemini", 0, "warning") == [
        "Gemini CLI is here, and does not call the gate gate install gemini, if you use it"
    ]
    settings_of(bare, "gemini").write_text("{,}")
    assert "line 1" in told(bare, project, "gemini", 1, "problem")[0]


def test_what_is_shadowed_switched_off_or_short_of_time_is_said(bare: Machine, project: Path) -> None:
    for name in ("droid", "gemini"):
        bare.text("install", name, cwd=project)
    droid, gemini = settings_of(bare, "droid"), settings_of(bare, "gemini")
    droid.with_name("hooks.json").write_text("{}")
    (problem,) = told(bare, project, "droid", 1, "problem")
    assert problem.startswith(f"Droid does not read the hooks in {droid}: {droid.with_name('hooks.json')} is there")
    droid.with_name("hooks.json").unlink()
    value = json.loads(gemini.read_text())
    value["hooks"]["SessionStart"][0]["hooks"][0]["timeout"] = 10  # seconds, somebody thought
    gemini.write_text(json.dumps(value))
    assert told(bare, project, "gemini", 0, "warning") == [
        "the SessionStart hook is given 0.01 s only gate install gemini"
    ]
    gemini.write_text(json.dumps(value | {"hooksConfig": {"enabled": False}}))
    (problem,) = told(bare, project, "gemini", 1, "problem")
    assert problem == f"{gemini} switches all hooks off take hooksConfig.enabled out of it"


def install_codex(machine: Machine, project: Path) -> list[dict[str, Any]]:
    """The hooks as Codex lists them once they are installed."""
    program = machine.directory / "bin" / "codex"
    program.write_text(CODEX.format(python=sys.executable))
    program.chmod(0o755)
    machine.text("install", "codex", cwd=project)
    settings = settings_of(machine, "codex")
    return [
        {
            "eventName": event[0].lower() + event[1:],
            "handlerType": "command",
            "command": groups[0]["hooks"][0]["command"],
            "sourcePath": str(settings),
            "enabled": True,
            "trustStatus": "trusted",
        }
        for event, groups in json.loads(settings.read_text())["hooks"].items()
    ]


def test_codex_is_asked_whether_it_trusts_the_hooks(bare: Machine, project: Path) -> None:
    hooks = install_codex(bare, project)

    def answers(*changed: dict[str, Any], code: int) -> list[str]:
        bare.environ["TEST_HOOKS"] = json.dumps([hook | change for hook, change in zip(hooks, changed, strict=True)])
        return told(bare, project, "codex", code)[2:]

    assert answers({}, {}, code=0) == ["Codex says that the hooks are trusted"]
    where = f"hook in {settings_of(bare, 'codex')}"
    (start, end) = answers({"trustStatus": "untrusted"}, {"trustStatus": "modified"}, code=1)
    assert start.startswith(f"Codex does not run the SessionStart {where}: it is untrusted start codex, type /hooks")
    assert end.startswith(f"Codex does not run the SessionEnd {where}: it is modified")
    (start, end) = answers({"enabled": False}, {"command": "another"}, code=1)
    assert start.startswith(f"Codex does not run the SessionStart {where}: it is switched off")
    assert end.startswith(f"Codex does not read the SessionEnd {where} see whether its config.toml switches")


def test_what_codex_says_in_another_way_is_no_trust(bare: Machine, project: Path) -> None:
    install_codex(bare, project)
    for text in ('[{"sourcePath": "/", "handlerType": "command"}]', "{"):
        bare.environ["TEST_HOOKS"] = text
        assert any(
            "did not say whether it trusts the hooks" in one for one in told(bare, project, "codex", 0, "warning")
        )


def test_a_codex_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\nsleep 300 & wait\n")  # a wrapper that does not hear the end of its input
    program.chmod(0o755)
    monkeypatch.setattr(codex_hooks, "TIMEOUT", 1.0)
    assert codex_hooks.ask(str(program), os.environ | {"TEST_MARK": str(tmp_path)}, str(tmp_path)) is None
    left = [process for process in psutil.process_iter() if marked(process, str(tmp_path))]
    assert psutil.wait_procs(left, timeout=60)[1] == []
    assert codex_hooks.ask(str(tmp_path / "none"), os.environ, str(tmp_path)) is None


def marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get("TEST_MARK") == mark
    except psutil.Error:
        return False
