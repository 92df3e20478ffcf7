"""`gate install claude` and `gate uninstall claude`, as a person uses them: the real command, home, repositories."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from kit import GATE, Machine, injected

from gate.clients import claude
from gate.wiring.client_settings import find_installed, look_at

EVENTS = ["SessionStart", "SessionEnd"]
OLD = "/old/bin/gate hook {} --client claude"
SOMEBODYS: dict[str, Any] = {
    "permissions": {"allow": ["Bash(npm run test:*)", "Read(~/.zshrc)"], "deny": ["Read(./.env)"]},
    "env": {"GREETING": "Zoë ☃", "TOKEN": "secret"},
    "model": "opus",
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh", "timeout": 5}]}],
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "echo hi"}]}],
    },
}


@pytest.fixture
def settings(machine: Machine) -> Path:
    return Path(machine.environ["HOME"]) / ".claude" / "settings.json"


def put(path: Path, text: str | bytes) -> bytes:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path.read_bytes()


def commands(path: Path) -> dict[str, list[str]]:
    """Every command of ours in a settings file, by event."""
    hooks = json.loads(path.read_text("utf-8-sig")).get("hooks", {})
    found = {
        event: [hook["command"] for group in groups for hook in group["hooks"] if "--client claude" in hook["command"]]
        for event, groups in hooks.items()
    }
    return {event: lines for event, lines in found.items() if lines}


def warnings(machine: Machine, *arguments: str, cwd: Path) -> str:
    done = machine.gate(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.decode().splitlines()
    assert all(line.startswith("session-gate: warning: ") for line in lines)
    return "\n".join(line for line in lines if "will not last" not in line)


LAYOUTS = {
    "two spaces": json.dumps(SOMEBODYS, indent=2, ensure_ascii=False) + "\n",
    "tabs, CRLF, byte order mark": "\ufeff" + json.dumps(SOMEBODYS, indent="\t").replace("\n", "\r\n") + "\r\n",
    "one line": json.dumps(SOMEBODYS, ensure_ascii=False),
    "empty file": "",
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_install_adds_and_uninstall_restores_to_the_byte(machine: Machine, settings: Path, text: str) -> None:
    before = put(settings, text)
    printed = machine.text("install", "claude", cwd=machine.directory)
    assert f"{settings}: SessionStart added, SessionEnd added\n" in printed
    assert "Claude Code reads it at its next start." in printed
    installed = settings.read_bytes()
    assert {event: len(lines) for event, lines in commands(settings).items()} == dict.fromkeys(EVENTS, 1)
    theirs = json.loads(before.decode("utf-8-sig").strip() or "{}")
    ours = json.loads(installed.decode("utf-8-sig"))
    for event in EVENTS:
        added = ours["hooks"][event].pop()["hooks"]
        assert [(hook["type"], hook["timeout"]) for hook in added] == [("command", 10)]
        if not ours["hooks"][event] and event not in theirs.get("hooks", {}):
            del ours["hooks"][event]
    assert ours == theirs | {"hooks": theirs.get("hooks", {})}
    assert (b"\r\n" in installed) is (b"\r\n" in before and b"{" in before)

    again = machine.text("install", "claude", cwd=machine.directory)
    assert "SessionStart already installed, SessionEnd already installed; nothing changed" in again
    assert settings.read_bytes() == installed

    printed = machine.text("uninstall", "claude", cwd=machine.directory)
    assert "SessionStart removed, SessionEnd removed" in printed
    assert settings.read_bytes() == before
    assert "nothing to remove" in machine.text("uninstall", "claude", cwd=machine.directory)
    assert settings.read_bytes() == before


def test_a_file_and_directory_that_were_made_go_again(machine: Machine, settings: Path) -> None:
    assert "no such file before" in machine.text("install", "claude", cwd=machine.directory)
    assert settings.read_text().endswith("}\n")
    assert "is gone" in machine.text("uninstall", "claude", cwd=machine.directory)
    assert not settings.parent.exists()
    settings.parent.mkdir()
    machine.text("install", "claude", cwd=machine.directory)
    machine.text("uninstall", "claude", cwd=machine.directory)
    assert list(settings.parent.iterdir()) == []
    machine.text("install", "claude", cwd=machine.directory)
    put(settings.with_name("history"), "")
    machine.text("uninstall", "claude", cwd=machine.directory)
    assert os.listdir(settings.parent) == ["history"]


def test_what_somebody_changed_since_stays(machine: Machine, settings: Path) -> None:
    put(settings, '{\n  "model": "opus"\n}\n')
    machine.text("install", "claude", cwd=machine.directory)
    changed = settings.read_text().replace('"opus"', '"sonnet"')
    put(settings, changed)
    machine.text("install", "claude", cwd=machine.directory)
    machine.text("uninstall", "claude", cwd=machine.directory)
    assert settings.read_text() == '{\n  "model": "sonnet"\n}\n'


def test_an_older_line_is_replaced_where_it_stands_and_goes_with_the_rest(machine: Machine, settings: Path) -> None:
    groups = {
        e: [{"hooks": [{"type": "command", "command": OLD.format(b)}]}]
        for e, b in zip(EVENTS, ("start", "end"), strict=True)
    }
    put(settings, json.dumps({"model": "opus", "hooks": groups}, indent=2))
    assert "SessionStart updated, SessionEnd updated" in machine.text("install", "claude", cwd=machine.directory)
    assert {event: len(lines) for event, lines in commands(settings).items()} == dict.fromkeys(EVENTS, 1)
    assert "/old/bin" not in settings.read_text()
    machine.text("uninstall", "claude", cwd=machine.directory)
    assert settings.read_text() == '{\n  "model": "opus"\n}'


def test_an_update_after_an_installation_still_leads_back_to_the_byte(machine: Machine, settings: Path) -> None:
    before = put(settings, '{ "hooks": { } }\n')
    machine.text("install", "claude", cwd=machine.directory)
    # As an installation elsewhere on this machine would have left it, with its own record.
    moved = machine.directory / "moved"
    moved.symlink_to(GATE.parent.parent)
    command = [moved / "bin" / GATE.name, "install", "claude"]
    done = subprocess.run(
        command, cwd=machine.directory, env=machine.environ, capture_output=True, check=True, timeout=60
    )
    assert b"already" in done.stdout or b"updated" in done.stdout
    machine.text("uninstall", "claude", cwd=machine.directory)
    assert settings.read_bytes() == before


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{\n  // mine\n  "model": "opus"\n}', "line 2: a comment, which JSON does not have"),
        (b'{\n  "hooks": {},\n}', "line 2: a comma before the closing bracket"),
        (b'{"hooks": {"SessionStart": "x"}}', "line 1: hooks.SessionStart: a list is expected here"),
        (b'{"a": "\xff"}', "line 1 is not UTF-8"),
        (b'{"a": 1', "line 1: the file ends"),
    ],
)
def test_what_cannot_be_read_is_left_alone_with_one_line(
    machine: Machine, settings: Path, command: str, text: bytes, problem: str
) -> None:
    put(settings, text)
    done = machine.gate(command, "claude", cwd=machine.directory)
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"session-gate: error: {settings}: {problem}")
    assert "run this again" in line
    assert settings.read_bytes() == text
    assert os.listdir(settings.parent) == ["settings.json"]


def test_dry_run_shows_a_diff_that_patch_takes_and_changes_nothing(machine: Machine, settings: Path) -> None:
    for number, text in enumerate((*LAYOUTS.values(), None)):
        settings.unlink(missing_ok=True)
        before = put(settings, text) if text is not None else None
        shown = machine.gate("install", "claude", "--dry-run", cwd=machine.directory)
        assert shown.returncode == 0
        assert (settings.read_bytes() if before is not None else None) == before
        assert list(machine.state.iterdir()) == []
        place = machine.directory / f"patched-{number}"
        place.mkdir()
        if before is not None:
            (place / "settings.json").write_bytes(before)
        diff = re.sub(rb"(?m)^([+-]{3} )/(?!dev/null).*$", rb"\1settings.json", shown.stdout, count=2)
        apply = ["git", "apply", "-p0", "--unidiff-zero", "-"]
        subprocess.run(apply, cwd=place, env=machine.environ, input=diff, check=True, timeout=60)
        machine.text("install", "claude", cwd=machine.directory)
        assert (place / "settings.json").read_bytes() == settings.read_bytes()
        assert machine.gate("install", "claude", "--dry-run", cwd=machine.directory).stdout.endswith(
            b"nothing changed\n"
        )
        removal = machine.text("uninstall", "claude", "--dry-run", cwd=machine.directory)
        assert '-            "command": ": session-gate hook' in removal or number
        machine.text("uninstall", "claude", cwd=machine.directory)
        shutil.rmtree(machine.state / "settings")


def test_the_backup_is_private_and_named(machine: Machine, settings: Path) -> None:
    before = put(settings, LAYOUTS["two spaces"])
    value = machine.json("install", "claude", cwd=machine.directory)
    backup = Path(value["backup"])
    assert backup.is_relative_to(machine.state)
    assert backup.read_bytes() == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(backup.parent.stat().st_mode) == 0o700
    assert os.listdir(settings.parent) == ["settings.json"]
    installed = settings.read_bytes()
    removed = machine.json("uninstall", "claude", cwd=machine.directory)
    assert Path(removed["backup"]).read_bytes() == installed


def test_the_answer_as_json(machine: Machine, settings: Path) -> None:
    value = machine.json("install", "claude", "--dry-run", cwd=machine.directory)
    assert (value["changed"], value["dry_run"], value["diff"][:14]) == (False, True, "--- /dev/null\n")
    value = machine.json("install", "claude", cwd=machine.directory)
    assert {key: value[key] for key in value if key != "warnings"} == {
        "schema": 1,
        "client": "claude",
        "scope": "user",
        "file": str(settings),
        "target": str(settings),
        "changed": True,
        "dry_run": False,
        "events": dict.fromkeys(EVENTS, "added"),
        "backup": None,
    }
    assert machine.json("install", "claude", cwd=machine.directory)["events"] == dict.fromkeys(EVENTS, "already")
    assert machine.json("uninstall", "claude", cwd=machine.directory)["events"] == dict.fromkeys(EVENTS, "removed")
    assert machine.json("uninstall", "claude", cwd=machine.directory)["events"] == dict.fromkeys(EVENTS, "nothing")


def test_the_clients_own_variable_says_where_its_settings_are(machine: Machine, settings: Path) -> None:
    other = machine.directory / "elsewhere"
    machine.text("install", "claude", cwd=machine.directory, CLAUDE_CONFIG_DIR=str(other))
    assert set(commands(other / "settings.json")) == set(EVENTS)
    assert not settings.exists()
    machine.text("uninstall", "claude", cwd=machine.directory, CLAUDE_CONFIG_DIR=str(other))
    assert not other.exists()
    done = machine.gate("install", "claude", cwd=machine.directory, CLAUDE_CONFIG_DIR="elsewhere")
    assert (done.returncode, b"CLAUDE_CONFIG_DIR has to be an absolute path" in done.stderr) == (2, True)


def test_the_projects_settings_lie_at_the_root_of_the_worktree(machine: Machine, project: Path) -> None:
    (project / "src").mkdir()
    other = machine.directory / "linked"
    machine.git(project, "worktree", "add", "--quiet", str(other))
    for worktree, cwd in ((project, project / "src"), (other, other)):
        printed = machine.text("install", "claude", "--scope", "project", cwd=cwd)
        assert f"of sessions started in {worktree} itself" in printed
        assert "Commit it" in printed
        assert "git does not ignore" not in warnings(machine, "install", "claude", "--scope", "project", cwd=cwd)
        path = worktree / ".claude" / "settings.json"
        assert str(machine.directory) not in path.read_text()
        assert all(lines[0].startswith(": session-gate hook ") for lines in commands(path).values())
    machine.text("uninstall", "claude", "--scope", "project", "-C", str(project / "src"), cwd=machine.directory)
    assert not (project / ".claude").exists()
    assert (other / ".claude").exists()
    done = machine.gate("install", "claude", "--scope", "project", cwd=project / ".git")
    assert (done.returncode, b"is a git directory and no worktree" in done.stderr) == (2, True)


def test_local_settings_name_this_installation_and_want_to_be_ignored(machine: Machine, project: Path) -> None:
    path = project / ".claude" / "settings.local.json"
    assert "git does not ignore" in warnings(machine, "install", "claude", "--scope", "local", cwd=project)
    assert str(GATE.parent) in path.read_text()
    machine.text("uninstall", "claude", "--scope", "local", cwd=project)
    assert not path.parent.exists()
    with (project / ".git" / "info" / "exclude").open("a") as exclude:
        exclude.write(".claude/settings.local.json\n")
    assert "git does not ignore" not in warnings(machine, "install", "claude", "--scope", "local", cwd=project)
    assert machine.git(project, "status", "--porcelain") == ""


def test_another_scope_that_calls_the_gate_too_is_said(machine: Machine, project: Path, settings: Path) -> None:
    machine.text("install", "claude", cwd=project)
    said = warnings(machine, "install", "claude", "--scope", "project", cwd=project)
    assert (
        f"{settings} has the gate's hooks too: both call the gate, so each start is told twice, at twice the cost"
        in said
    )
    assert "gate uninstall claude --scope user" in said
    said = warnings(machine, "uninstall", "claude", cwd=project)
    assert (
        f"{project / '.claude' / 'settings.json'} has the gate's hooks too: the gate is still called from there" in said
    )


def test_hooks_that_are_switched_off_are_said(machine: Machine, project: Path, settings: Path) -> None:
    put(settings, '{"disableAllHooks": true}')
    assert f"{settings} sets disableAllHooks: Claude Code runs no hooks here" in warnings(
        machine, "install", "claude", cwd=project
    )
    put(project / ".claude" / "settings.json", '{"disableAllHooks": false}')
    assert "which settings of this project override" in warnings(machine, "install", "claude", cwd=project)
    put(project / ".claude" / "settings.local.json", '{"disableAllHooks": true}')
    assert "settings.local.json sets disableAllHooks" in warnings(machine, "install", "claude", cwd=project)


def test_hooks_of_somebodys_are_never_changed(machine: Machine, settings: Path) -> None:
    hook = {"type": "command", "command": "log; gate hook start --client claude"}
    text = json.dumps({"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [hook]}]}})
    put(settings, text)
    assert "a hook of somebody's that seems to call the gate too" in warnings(
        machine, "install", "claude", cwd=machine.directory
    )
    machine.text("uninstall", "claude", cwd=machine.directory)
    assert settings.read_text() == text


def test_a_matcher_that_restricts_our_entry_is_said(machine: Machine, settings: Path) -> None:
    hook = {"type": "command", "command": OLD.format("start")}
    put(settings, json.dumps({"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [hook]}]}}))
    assert "is called for the matcher startup of its group alone" in warnings(
        machine, "install", "claude", cwd=machine.directory
    )


def test_links_and_permissions_stay(machine: Machine, settings: Path) -> None:
    target = machine.directory / "dotfiles" / "claude.json"
    before = put(target, LAYOUTS["two spaces"])
    target.chmod(0o640)
    settings.parent.mkdir()
    settings.symlink_to(target)
    assert f"(a link to {target})" in machine.text("install", "claude", cwd=machine.directory)
    assert settings.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    machine.text("uninstall", "claude", cwd=machine.directory)
    assert (settings.is_symlink(), target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (True, before, 0o640)


def test_a_read_only_file_is_left_alone(machine: Machine, settings: Path) -> None:
    before = put(settings, "{}")
    settings.chmod(0o444)
    without_roots_rights = ["setpriv", "--bounding-set", "-dac_override"] if os.getuid() == 0 else []
    if without_roots_rights and shutil.which("setpriv") is None:
        pytest.skip("root may write everything, and there is no setpriv")
    command = [*without_roots_rights, GATE, "install", "claude"]
    done = subprocess.run(
        command, cwd=machine.directory, env=machine.environ, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert (
        b"settings.json: cannot be written: it is read-only; what --dry-run shows can be put in by hand" in done.stderr
    )
    assert settings.read_bytes() == before


def test_many_at_once_leave_one_entry_of_each_event(machine: Machine, settings: Path) -> None:
    before = put(settings, LAYOUTS["tabs, CRLF, byte order mark"])
    command = [GATE, "install", "claude"]
    started = [
        subprocess.Popen(
            command, cwd=machine.directory, env=machine.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(6)
    ]
    done = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * 6
    assert sum(b"SessionStart added" in output for output in done) == 1
    assert {event: len(lines) for event, lines in commands(settings).items()} == dict.fromkeys(EVENTS, 1)
    machine.text("uninstall", "claude", cwd=machine.directory)
    assert settings.read_bytes() == before


def test_an_environment_that_will_not_last_is_said(machine: Machine) -> None:
    done = machine.gate("install", "claude", cwd=machine.directory, TMPDIR=str(GATE.parent.parent.parent))
    assert done.returncode == 0
    assert f"{GATE.parent.parent} will not last: it lies in a temporary directory".encode() in done.stderr
    done = machine.gate("install", "claude", cwd=machine.directory, UV_CACHE_DIR=str(GATE.parent.parent.parent))
    assert b"will not last: it lies in a cache" in done.stderr
    assert b"(pipx install, uv tool install)" in done.stderr


def test_without_the_record_an_uninstallation_is_tidy(machine: Machine, project: Path) -> None:
    """As on a teammate's machine, who takes the shared hooks out of the repository."""
    path = project / ".claude" / "settings.json"
    before = put(path, LAYOUTS["two spaces"])
    machine.text("install", "claude", "--scope", "project", cwd=project)
    shutil.rmtree(machine.state / "settings")
    machine.text("uninstall", "claude", "--scope", "project", cwd=project)
    assert path.read_bytes() == before


def test_the_installed_line_runs_the_gate(machine: Machine, project: Path, settings: Path) -> None:
    (project / "left.py").write_text("")
    machine.text("install", "claude", cwd=project)
    (start,) = commands(settings)["SessionStart"]
    payload = json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"})
    done = subprocess.run(
        ["/bin/sh", "-c", start],
        input=payload,
        cwd=project,
        env=machine.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "left.py" in injected(done.stdout)
    (record,) = machine.records()
    assert record.stem == "s"


def test_usage(machine: Machine) -> None:
    for arguments in (["install"], ["install", "nobody"], ["install", "claude", "--scope", "team"]):
        done = machine.gate(*arguments, cwd=machine.directory)
        assert done.returncode == 2, arguments
    for command in ("install", "uninstall"):
        assert f"Example: gate {command} claude" in machine.text(command, "--help", cwd=machine.directory)
    done = machine.gate("install", "claude", "-C", "nowhere", cwd=machine.directory)
    assert (done.returncode, b"no such directory" in done.stderr) == (2, True)


def test_what_is_installed_can_be_listed(machine: Machine, project: Path, settings: Path) -> None:
    environ = machine.environ
    assert find_installed(claude, environ, str(project)) == []
    machine.text("install", "claude", cwd=project)
    machine.text("install", "claude", "--scope", "project", cwd=project)
    hooks = {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": OLD.format("end"), "timeout": 3}]}]}
    put(project / ".claude" / "settings.local.json", json.dumps({"hooks": hooks}))
    found = find_installed(claude, environ, str(project))
    assert [(one.scope, one.event, one.boundary, one.seconds, one.effective) for one in found] == [
        ("user", "SessionStart", "start", 10, True),
        ("user", "SessionEnd", "end", 10, True),
        ("project", "SessionStart", "start", 10, True),
        ("project", "SessionEnd", "end", 10, True),
        ("local", "Stop", "end", 3, False),
    ]
    assert found[0].file == str(settings)
    assert found[-1].matcher == "x"
    put(settings, "{,}")
    wiring = look_at(claude, environ, str(project), managed=str(put_managed(machine)))
    assert list(wiring.unreadable) == [str(settings)]
    assert "line 1" in wiring.unreadable[str(settings)]
    assert wiring.disabled_by == str(machine.directory / "managed.json")


def put_managed(machine: Machine) -> Path:
    path = machine.directory / "managed.json"
    path.write_text('{"allowManagedHooksOnly": true}')
    return path
