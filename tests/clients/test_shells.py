"""Plain shells, driven at a terminal: a start when one enters a project, an end at its exit, and quiet otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kit import Client, Machine, green
from shells import COMMANDS, InteractiveShell

from gate.wiring.shell_block import SHELLS as START_FILES

SHELLS = tuple(COMMANDS)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def project(machine: Machine) -> Path:
    path = machine.repository()
    green(machine, path)
    return path


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, machine: Machine, project: Path) -> Iterator[InteractiveShell]:
    machine.text("install", request.param, cwd=machine.directory)
    with InteractiveShell(request.param, machine.directory, machine.environ) as started:
        yield started
    machine.settle()


def sessions(machine: Machine, project: Path) -> list[str]:
    return [session["client"] for session in machine.json("status", cwd=project)["sessions"]]


def test_a_session_lasts_from_entering_a_project_to_the_shells_exit(
    shell: InteractiveShell, machine: Machine, project: Path
) -> None:
    shell.type("cd /")
    assert machine.records() == []
    (project / "inside").mkdir()
    assert "SESSION-GATE" not in shell.type(f"cd {project}/inside")
    assert sessions(machine, project) == ["shell"]
    assert "SESSION-GATE" not in shell.type("cd .. ; cd / ; cd -")
    assert sessions(machine, project) == ["shell"]
    (project / "inside" / "new").write_text("")
    assert "SESSION-GATE" not in shell.exit()
    machine.settle()
    assert sessions(machine, project) == []
    assert "since the shell session that ended" in machine.text("start", cwd=project)


def test_debt_stands_before_the_prompt(shell: InteractiveShell, machine: Machine, project: Path) -> None:
    Client(machine, project).leave("left")
    said = shell.type(f"cd {project}")
    assert "SESSION-GATE DEBT: the previous session left work." in said
    assert "REPO: 1 uncommitted path since the claude session that ended" in said
    assert "SESSION-GATE" not in shell.type("cd /; cd -")


def test_the_last_status_stays_what_it_was(shell: InteractiveShell, project: Path) -> None:
    assert "[1]" in shell.type(f"cd {project}; false")
    assert "[0]" in shell.type("true")


def test_a_closed_terminal_is_an_end(shell: InteractiveShell, machine: Machine, project: Path) -> None:
    shell.type(f"cd {project}")
    shell.hang_up()
    machine.settle()
    assert sessions(machine, project) == []
    assert machine.verdict(project) == "green"


def test_a_killed_shell_is_seen(shell: InteractiveShell, machine: Machine, project: Path) -> None:
    shell.type(f"cd {project}")
    (project / "new").write_text("")
    shell.process.kill()
    shell.hang_up()
    assert machine.verdict(project) == "abandoned"
    assert "did not end: new" in machine.text("start", cwd=project)


def test_every_project_that_was_entered_is_answered_for(
    shell: InteractiveShell, machine: Machine, project: Path
) -> None:
    other = machine.repository("it's [an] odd $name\\")
    green(machine, other)
    shell.type(f"cd {project}")
    (machine.directory / "link").symlink_to(other)
    shell.type(f"cd {machine.directory}/link/")
    assert len(machine.records()) == 2
    shell.type("cd /")
    shell.exit()
    machine.settle()
    assert machine.records() == []
    assert machine.verdict(other) == machine.verdict(project) == "green"


def test_a_command_that_is_no_conversation_calls_nothing(machine: Machine, project: Path) -> None:
    for name in SHELLS:
        machine.text("install", name, cwd=machine.directory)
        with InteractiveShell(name, project, machine.environ, "-c", "cd .; exit 0") as shell:
            shell.wait()
    assert machine.records() == []


def test_what_an_agent_leaves_beside_an_open_shell_is_seen(
    shell: InteractiveShell, machine: Machine, project: Path
) -> None:
    shell.type(f"cd {project}")
    (project / "a-persons").write_text("")
    Client(machine, project).leave("left")
    client = Client(machine, project, "session-2")
    said = client.start()
    client.kill()
    assert "1 uncommitted path since the claude session that ended" in said
    assert ": left" in said
    assert "a-persons" not in said


def test_when_the_environment_is_gone_the_shell_says_so_and_goes_on(
    shell: InteractiveShell, machine: Machine, project: Path
) -> None:
    file = Path(START_FILES[shell.name].start_file(machine.environ))
    file.write_text(file.read_text().replace("p=/", "p=/gone/").replace("g=/", "g=/gone/"))
    with InteractiveShell(shell.name, project, machine.environ) as started:
        assert "SESSION-GATE: did not run:" in started.type("true")
        started.exit()


def test_uninstalling_leaves_the_start_file_as_it_was(machine: Machine) -> None:
    file = Path(machine.environ["HOME"], ".bashrc")
    file.write_bytes(b"export A=\xe9")
    file.chmod(0o640)
    machine.text("install", "bash", cwd=machine.directory)
    assert machine.text("install", "bash", cwd=machine.directory).endswith("nothing changed\n")
    assert "bash: " in machine.text("doctor", cwd=machine.directory)
    machine.text("uninstall", "bash", cwd=machine.directory)
    assert file.read_bytes() == b"export A=\xe9"
    assert file.stat().st_mode & 0o777 == 0o640
    assert machine.gate("install", "bash", "--scope", "project", cwd=machine.directory).returncode == 2
