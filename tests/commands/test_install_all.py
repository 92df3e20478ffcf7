"""`gate install` and `gate uninstall` for every client, by name and without one, as a person uses them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from kit import GATE, Machine

from gate.clients import AGENTS, OWN_FILE
from gate.wiring.client_settings import settings_path
from gate.wiring.clients import CLIENTS

WITHOUT_CLAUDE = [name for name in AGENTS if name != "claude"]


def settings_of(machine: Machine, name: str) -> Path:
    return Path(settings_path(CLIENTS[name], "user", machine.environ, ""))


def errors(machine: Machine, *arguments: str, cwd: Path, code: int) -> str:
    done = machine.gate(*arguments, cwd=cwd)
    assert done.returncode == code, done
    return done.stderr.decode()


@pytest.mark.parametrize("name", WITHOUT_CLAUDE)
def test_by_name(bare: Machine, project: Path, name: str) -> None:
    client, settings = CLIENTS[name], settings_of(bare, name)
    added = ", ".join(f"{event} added" for event, _, _ in client.HOOKS)
    diff = bare.text("install", name, "--dry-run", cwd=project)
    assert diff.startswith(f"--- /dev/null\n+++ {settings}\n")
    assert not settings.exists()
    said = bare.text("install", name, cwd=project)
    assert said.startswith(f"{settings}: {added}\n")
    assert f"{client.TITLE} reads it at its next start.\n{client.AFTERWARDS}" in said
    assert "nothing changed" in bare.text("install", name, cwd=project)
    value = bare.json("install", name, cwd=project)
    assert (value["client"], value["file"], value["changed"]) == (name, str(settings), False)
    assert "is gone" in bare.text("uninstall", name, cwd=project)
    assert not settings.exists()


@pytest.mark.parametrize("name", WITHOUT_CLAUDE)
def test_the_projects_file_is_for_the_team(bare: Machine, project: Path, name: str) -> None:
    said = bare.text("install", name, "--scope", "project", cwd=project)
    path = project / settings_path(CLIENTS[name], "project", {}, "")
    assert said.startswith(f"{path}: ")
    assert f"at its next start, of sessions started in {project} itself.\n" in said
    assert "Commit it" in said
    assert str(GATE) not in path.read_text()
    bare.text("uninstall", name, "--scope", "project", cwd=project)
    assert not path.exists()
    assert f"{CLIENTS[name].TITLE} has no local settings: use --scope user or project" in errors(
        bare, "install", name, "--scope", "local", cwd=project, code=2
    )


def test_codex_is_said_to_want_trust_and_none_is_written(bare: Machine, project: Path) -> None:
    said = bare.text("install", "codex", cwd=project)
    assert "once you have trusted it: start codex in a project and type /hooks" in said
    directory = settings_of(bare, "codex").parent
    assert [path.name for path in directory.iterdir()] == ["hooks.json"]
    assert "type /hooks" not in bare.text("install", "codex", cwd=project)


def test_without_a_name_whatever_is_here_is_installed(bare: Machine, project: Path) -> None:
    assert "no client was found on this machine" in errors(bare, "install", cwd=project, code=2)
    program = bare.directory / "bin" / "qwen"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name in ("claude", "codex"):
        settings_of(bare, name).parent.mkdir()
    said = bare.text("install", cwd=project)
    home = bare.directory / "home"
    found, _, rest = said.partition("\n")
    assert found == f"Found: Claude Code ({home}/.claude), Codex ({home}/.codex), Qwen Code ({program})"
    assert rest.startswith(f"{home}/.claude/settings.json: SessionStart added")
    assert all(settings_of(bare, name).exists() for name in ("claude", "codex", "qwen"))
    assert not settings_of(bare, "gemini").exists()
    assert bare.text("install", cwd=project).count("nothing changed") == 3
    value = bare.json("install", cwd=project)
    assert [(one["client"], one["changed"]) for one in value["clients"]] == [
        ("claude", False), ("codex", False), ("qwen", False)
    ]  # fmt: skip


def test_a_program_of_the_projects_own_is_no_client_of_this_machine(bare: Machine, project: Path) -> None:
    program = project / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    bare.environ["PATH"] += f":{project}"
    assert "no client was found on this machine" in errors(bare, "install", cwd=project, code=2)


def test_what_fails_for_one_client_is_said_and_hinders_no_other(bare: Machine, project: Path) -> None:
    for name in ("claude", "gemini"):
        settings_of(bare, name).parent.mkdir()
    settings_of(bare, "claude").write_text("{,}")
    said = errors(bare, "install", cwd=project, code=2)
    assert "session-gate: error: claude: " in said
    assert "settings.json: line 1" in said
    assert settings_of(bare, "gemini").exists()
    assert settings_of(bare, "claude").read_text() == "{,}"
    found = json.loads(bare.gate("install", "--format", "json", cwd=project).stdout)["clients"]
    assert [(one["client"], "error" in one) for one in found] == [("claude", True), ("gemini", False)]


def test_a_warning_about_this_program_is_said_once(bare: Machine, project: Path) -> None:
    for name in ("claude", "gemini"):
        settings_of(bare, name).parent.mkdir()
    done = bare.gate("install", cwd=project, TMPDIR=str(GATE.parent.parent.parent))
    assert done.returncode == 0
    assert done.stderr.count(b"will not last") == 1


def test_without_a_name_all_that_is_installed_goes(bare: Machine, project: Path) -> None:
    assert bare.text("uninstall", cwd=project) == "Nothing is installed there.\n"
    theirs = settings_of(bare, "gemini")
    theirs.parent.mkdir()
    theirs.write_text("{} // mine\n")
    installed = [*AGENTS, "bash"]
    for name in installed:
        bare.text("install", name, cwd=project)
    shown = bare.text("uninstall", "--dry-run", cwd=project)
    assert shown.count("+++ ") == len(installed)
    said = bare.text("uninstall", cwd=project)
    assert said.count(" removed") == sum(len(client.HOOKS) for client in CLIENTS.values()) + 2
    assert theirs.read_text() == "{} // mine\n"
    left = [path for path in (bare.directory / "home").rglob("*") if path.is_file() and path != theirs]
    assert left == []
    assert bare.text("uninstall", cwd=project) == "Nothing is installed there.\n"


def test_without_a_name_only_those_that_have_the_scope(bare: Machine, project: Path) -> None:
    for name in ("claude", "codex"):
        settings_of(bare, name).parent.mkdir()
    bare.text("install", "--scope", "local", cwd=project)
    assert [path.name for path in project.iterdir() if path.name.startswith(".") and path.name != ".git"] == [".claude"]
    assert "removed" in bare.text("uninstall", "--scope", "local", cwd=project)


def test_the_installed_lines_call_the_gate_as_each_client_runs_them(bare: Machine, project: Path) -> None:
    """Every line starts, in whatever shell the client may use, and a record is opened and ended by it."""
    shells = [["/bin/sh", "-c"], *([shell, "-c"] for name in ("bash", "fish") if (shell := shutil.which(name)))]
    for name in WITHOUT_CLAUDE:
        client = CLIENTS[name]
        if client.FORM == OWN_FILE:
            continue  # what is in these is tried with the clients themselves
        bare.text("install", name, cwd=project)
        hooks = json.loads(settings_of(bare, name).read_text())["hooks"]
        for shell in shells if client.ANY_SHELL else shells[:1]:
            for event, _, _ in client.HOOKS:
                hook = hooks[event][0]
                command = hook["command"] if "command" in hook else hook["hooks"][0]["command"]
                done = subprocess.run(
                    [*shell, command],
                    input=b'{"hook_event_name": "SessionGateTrial"}',
                    cwd=project,
                    env=bare.environ,
                    capture_output=True,
                    check=False,
                    timeout=60,
                )
                assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), (name, shell)
                broken = command.replace(str(GATE.parent), "/nowhere")
                done = subprocess.run(
                    [*shell, broken],
                    stdin=subprocess.DEVNULL,
                    env=bare.environ,
                    capture_output=True,
                    check=False,
                    timeout=60,
                )
                assert done.returncode == 0
                assert b"SESSION-GATE: did not run: /nowhere/session-gate" in done.stdout + done.stderr
