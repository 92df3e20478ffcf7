"""`gate doctor` asks the real Codex which hooks it trusts; what its user then does there changes the answer."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from install_clients import cure, program
from kit import GATE, Machine

ALONE = ["unshare", "-n", "/bin/sh", "-c", 'ip link set lo up; exec "$@"', "sh"]


@pytest.fixture
def codex(machine: Machine) -> Path:
    """The client's own directory; the client is in PATH."""
    if not program("codex").exists():
        pytest.fail(cure("codex"))
    programs = machine.directory / "bin"
    programs.mkdir()
    (programs / "codex").symlink_to(program("codex"))
    directory = machine.directory / "codex"
    directory.mkdir(mode=0o700)
    machine.environ |= {
        "PATH": os.pathsep.join((str(programs), str(GATE.parent), machine.environ["PATH"])),
        "CODEX_HOME": str(directory),
    }
    return directory


def told(machine: Machine, project: Path) -> list[str]:
    """What is said of Codex's consent."""
    command = [*ALONE, str(GATE), "doctor", "--format", "json"]
    done = subprocess.run(command, cwd=project, env=machine.environ, capture_output=True, check=False, timeout=60)
    answers: list[Mapping[str, Any]] = json.loads(done.stdout)["answers"]
    return [answer["text"] for answer in answers if answer["about"] == "codex" and "Codex " in answer["text"]]


def test_a_hook_runs_once_its_user_trusts_it_as_it_stands(machine: Machine, project: Path, codex: Path) -> None:
    settings = codex / "hooks.json"
    machine.text("install", "codex", cwd=project)
    assert told(machine, project) == [
        f"Codex does not run the {event} hook in {settings}: it is untrusted"
        for event in ("SessionStart", "SessionEnd")
    ]
    hooks = listed(machine, project)
    states = [f'[hooks.state.{json.dumps(hook["key"])}]\ntrusted_hash = "{hook["currentHash"]}"\n' for hook in hooks]
    config = codex / "config.toml"
    config.write_text("".join(states))
    assert told(machine, project) == ["Codex says that the hooks are trusted"]
    settings.write_text(settings.read_text().replace('"timeout": 10', '"timeout": 9'))
    assert told(machine, project) == [f"Codex does not run the SessionStart hook in {settings}: it is modified"]
    config.write_text("".join(states) + "[features]\nhooks = false\n")
    assert told(machine, project) == [
        f"Codex does not read the {event} hook in {settings}" for event in ("SessionStart", "SessionEnd")
    ]


def test_those_of_a_project_need_trust_in_the_project_too(machine: Machine, project: Path, codex: Path) -> None:
    machine.text("install", "codex", "--scope", "project", cwd=project)
    settings = project / ".codex" / "hooks.json"
    assert f"Codex does not read the SessionStart hook in {settings}" in told(machine, project)
    (codex / "config.toml").write_text(f'[projects.{json.dumps(str(project))}]\ntrust_level = "trusted"\n')
    assert f"Codex does not run the SessionStart hook in {settings}: it is untrusted" in told(machine, project)


def listed(machine: Machine, project: Path) -> list[dict[str, Any]]:
    """The hooks as Codex lists them, asked by hand."""
    requests: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "x", "version": "1"}}},
        {"method": "initialized"},
        {"id": 1, "method": "hooks/list", "params": {"cwds": [str(project)]}},
    ]
    with subprocess.Popen(
        [*ALONE, str(program("codex")), "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=project,
        env=machine.environ,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(json.dumps(request) + "\n" for request in requests).encode())
        server.stdin.flush()
        messages = map(json.loads, server.stdout)
        answer = next(message for message in messages if message.get("id") == 1)
        server.stdin.close()
    return list(answer["result"]["data"][0]["hooks"])
