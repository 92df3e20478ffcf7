"""`gate waive`, and what a start says before and after its date."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from kit import Client, Machine

from gate.clock import local_day, rfc3339

OpenClient = Callable[..., Client]
DAY = 86400.0
SOON = local_day(time.time() + 3 * DAY)


def waive(machine: Machine, project: Path, *arguments: str, until: str = SOON, code: int = 0) -> str:
    return machine.text("waive", *arguments, "--until", until, "--reason", "it is mine", cwd=project, code=code)


def test_what_is_waived_is_silent_until_its_date_and_then_said(
    machine: Machine, project: Path, open_client: OpenClient
) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    assert "left.py" in machine.text("start", cwd=project)
    waive(machine, project, "uncommitted_paths", "*.py")
    assert machine.text("start", cwd=project) == ""
    assert machine.verdict(project) == "green"
    status = machine.text("status", cwd=project)
    assert f'REPO (note): 1 uncommitted path, accepted until {SOON}: "it is mine": left.py.' in status
    client = open_client(project)
    assert client.start() == ""
    client.end()
    assert machine.verdict(project) == "green"

    machine.environ["SESSION_GATE_NOW"] = rfc3339(time.time() + 5 * DAY)
    assert machine.verdict(project) == "stale"
    text = open_client(project, "later").start()
    assert text.startswith("SESSION-GATE DEBT: a waiver is over.")
    assert "REPO: 1 uncommitted path, 1 of which a waiver that is over accepted: left.py." in text


def test_what_is_taken_back_is_debt_again(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    waive(machine, project, "uncommitted_paths")
    machine.text("end", cwd=project)
    assert machine.text("waive", "--list", cwd=project).startswith("  1  uncommitted_paths")
    machine.text("waive", "--remove", "1", cwd=project)
    assert machine.verdict(project) == "stale"
    assert "left.py" in machine.text("start", cwd=project)
    assert machine.text("waive", "--list", cwd=project) == "There are no waivers.\n"


def test_a_projects_waiver_is_not_anothers_and_a_machines_is(machine: Machine, project: Path) -> None:
    other = machine.repository("other")
    for place in (project, other):
        (place / "left.py").write_text("")
    waive(machine, project, "uncommitted_paths")
    machine.text("run", cwd=project)
    machine.text("run", cwd=other, code=1)
    for number in range(30):
        (machine.temp / "capture-live").mkdir(exist_ok=True)
        (machine.temp / "capture-live" / f"{number}").touch()
    waive(machine, project, "temp_size", "capture-*")
    machine.text("run", "temp_size", cwd=other)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["uncommited_paths", "--until", SOON, "--reason", "x"], "did you mean uncommitted_paths?"),
        (["uncommitted_paths", "--until", "2020-01-01", "--reason", "x"], "that day is over"),
        (["uncommitted_paths", "--until", "tomorrow", "--reason", "x"], "tomorrow is not a date like 2026-12-31"),
        (["uncommitted_paths", "--until", SOON], "--reason"),
        (["uncommitted_paths", "--until", SOON, "--reason", " "], "--reason"),
        ([], "--list"),
        (["--list", "--remove", "1"], "one of these"),
        (["--remove", "1"], "there is no waiver 1"),
    ],
)
def test_what_cannot_be_waived_is_said(machine: Machine, project: Path, arguments: list[str], said: str) -> None:
    done = machine.gate("waive", *arguments, cwd=project)
    assert done.returncode == 2
    assert said in done.stderr.decode()


def test_a_malformed_waiver_is_no_silence(machine: Machine, project: Path) -> None:
    machine.text("end", cwd=project)
    (machine.config.parent / "waivers.toml").write_text("[[waiver]]\ncheck = 1\n")
    text = machine.text("start", cwd=project)
    assert "CONFIG: could not check: " in text
    assert "waivers.toml: waiver.1: check: expected a text; it counts for nothing until that is mended" in text
    done = machine.gate("waive", "--list", cwd=project)
    assert b"waiver.1" in done.stderr


def test_the_list_as_json(machine: Machine, project: Path) -> None:
    waive(machine, project, "uncommitted_paths", "a b*")
    value = machine.json("waive", "--list", cwd=project)
    assert value == {
        "schema": 1,
        "waivers": [
            {
                "number": 1,
                "check": "uncommitted_paths",
                "pattern": "a b*",
                "until": SOON,
                "reason": "it is mine",
                "project": str(project),
                "holds": True,
            }
        ],
        "problems": [],
    }
