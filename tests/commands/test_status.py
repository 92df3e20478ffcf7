"""`gate status`: what it says is dated, and no project that is known here is left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kit import Machine

THEN, LATER = "2026-11-30T08:00:00Z", "2026-11-30T11:05:00Z"


def test_ages_are_said_to_be_of_the_marker(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1, SESSION_GATE_NOW=THEN)
    lines = machine.text("status", cwd=project, SESSION_GATE_NOW=LATER).splitlines()
    assert lines[:3] == [
        f"project   {project}",
        "verdict   debt: something was left behind",
        "marker    debt, as of 2026-11-30 08:00 (3 h ago); so are the ages below",
    ]


def test_without_findings_no_ages_are_spoken_of(machine: Machine, project: Path) -> None:
    machine.text("end", cwd=project, SESSION_GATE_NOW=THEN)
    assert "marker    ok, as of 2026-11-30 08:00 (3 h ago)\n" in machine.text(
        "status", cwd=project, SESSION_GATE_NOW=LATER
    )
    assert "(which lies in the future)" in machine.text("status", cwd=project, SESSION_GATE_NOW="2026-11-01T00:00:00Z")


def test_run_and_end_name_the_project_last(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    (project / "below").mkdir()
    for command in ("run", "end"):
        text = machine.text(command, cwd=project / "below", code=1)
        assert text.splitlines()[-1] == f"debt: 1 to clear (project {project})"


def test_a_projects_name_is_one_harmless_line(machine: Machine) -> None:
    odd = machine.repository("a\x1b[31m\nb")
    last = machine.text("run", cwd=odd).splitlines()[-1]
    assert last == f'ok: nothing left behind (project "{machine.directory}/a\\x1b[31m\\nb")'


def test_all_has_a_row_for_each_and_the_exit_code(machine: Machine, project: Path) -> None:
    other = machine.repository("other")
    (other / "left.py").write_text("")
    machine.text("end", cwd=project)
    machine.text("end", cwd=other, code=1)
    rows = machine.text("status", "--all", cwd=project).splitlines()
    assert sorted(row.split()[0] for row in rows) == ["debt", "green"]
    assert machine.text("status", "--exit-code", cwd=project)
    assert machine.gate("status", "--exit-code", cwd=other).returncode == 1
    assert machine.gate("status", "--all", "--exit-code", cwd=project).returncode == 1
    assert len(machine.json("status", "--all", cwd=project)["projects"]) == 2


@pytest.mark.parametrize("damage", ["torn", "gone", "without a marker"])
def test_all_leaves_nothing_out(machine: Machine, damage: str, open_client: object) -> None:
    other = machine.repository("other")
    if damage == "without a marker":
        open_client(other).start()  # type: ignore[operator]
        machine.settle()
        (machine.project_dir() / "marker.json").unlink()
        expected = f"stale     -                 {other}"
    else:
        machine.text("end", cwd=other, SESSION_GATE_NOW=THEN)
        marker = machine.project_dir() / "marker.json"
        if damage == "torn":
            marker.write_bytes(marker.read_bytes()[:-40])
            expected = f"damaged   -                 {machine.project_dir()}"
        else:
            shutil.rmtree(other)
            expected = f"green     2026-11-30 08:00  {other} (not there)"
    (row,) = machine.text("status", "--all", cwd=machine.directory, SESSION_GATE_NOW=LATER).splitlines()
    assert row == expected
    (value,) = machine.json("status", "--all", cwd=machine.directory)["projects"]
    assert value["project"]["key"] == machine.project_dir().name


def test_all_with_nothing_known_says_so(machine: Machine, project: Path) -> None:
    done = machine.gate("status", "--all", cwd=project)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"session-gate: no project is known in {machine.state}\n"


def test_status_writes_nothing_and_starts_nothing(machine: Machine, project: Path) -> None:
    assert "no session has been recorded here" in machine.text("status", cwd=project)
    assert list(machine.state.iterdir()) == []
