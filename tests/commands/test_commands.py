"""Every subcommand through the installed program: what it prints, and its exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from kit import GATE, Machine

from gate.registry import BUILT_IN

COMMANDS = ["start", "end", "run", "hook", "status", "list", "explain", "config"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("gate expl", ["explain"]),
        ("gate explain te", ["temp_size"]),
        ("gate run stale_locks ca", ["capture_streams"]),
        ("gate waive unc", ["uncommitted_paths"]),
        ("gate run nothing", []),
    ],
)
def test_a_shell_completes_commands_and_checks(machine: Machine, project: Path, words: str, offered: list[str]) -> None:
    count = len(words.split()) - 1
    asked = {"_GATE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    text = machine.text(cwd=project, **asked)
    assert [line.partition(",")[2] for line in text.split()] == offered
    assert "_GATE_COMPLETE=bash_complete" in machine.text(cwd=project, _GATE_COMPLETE="bash_source")


def test_run_in_a_clean_repository_prints_a_line_for_each_check(machine: Machine, project: Path) -> None:
    text = machine.text("run", cwd=project)
    lines = text.splitlines()
    assert [line.split()[1:3] for line in lines[: len(BUILT_IN)]] == [[name, "clean"] for name in BUILT_IN]
    assert lines[-1] == f"ok: nothing left behind (project {project})"
    assert list(machine.state.iterdir()) == []


def test_run_with_debt_exits_1_and_says_all(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    text = machine.text("run", cwd=project, code=1)
    assert "REPO: 1 uncommitted path: left.py." in text
    assert "To look and to clear: " in text
    assert "gate explain uncommitted_paths" in text
    assert list(machine.state.iterdir()) == []


def test_run_of_named_checks_runs_only_these(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    assert machine.text("run", "stale_locks", cwd=project).splitlines()[0].split() == ["LOCK", "stale_locks", "clean"]
    done = machine.gate("run", "stale_lock", cwd=project)
    assert done.returncode == 2
    assert b"stale_lock: no such check" in done.stderr
    assert done.stdout == b""


def test_outside_a_repository_the_git_checks_are_skipped(machine: Machine) -> None:
    place = machine.directory / "plain"
    place.mkdir()
    outcomes = {r["check"]: (r["outcome"], r["reason"]) for r in machine.json("run", cwd=place)["results"]}
    assert outcomes["uncommitted_paths"][0] == "skipped"
    assert "not a git repository" in outcomes["uncommitted_paths"][1]


def test_fingerprint_and_first_seen_survive_a_change_of_the_count(machine: Machine, project: Path) -> None:
    (project / "one.py").write_text("")
    machine.text("end", cwd=project, code=1, SESSION_GATE_NOW="2026-11-30T08:00:00Z")
    (before,) = machine.marker()["findings"]
    (project / "two.py").write_text("")
    machine.text("end", cwd=project, code=1, SESSION_GATE_NOW="2026-11-30T09:00:00Z")
    (after,) = machine.marker()["findings"]
    assert before["fingerprint"] == after["fingerprint"]
    assert before["first_seen"] == after["first_seen"] == "2026-11-30T08:00:00Z"
    assert "2 uncommitted paths" in after["summary"]


def test_a_week_old_green_is_no_evidence(machine: Machine, project: Path) -> None:
    machine.text("end", cwd=project, SESSION_GATE_NOW="2026-11-01T08:00:00Z")
    assert machine.verdict(project, SESSION_GATE_NOW="2026-11-08T07:59:00Z") == "green"
    assert machine.verdict(project, SESSION_GATE_NOW="2026-11-08T08:01:00Z") == "stale"
    (project / "left.py").write_text("")
    text = machine.text("start", cwd=project, SESSION_GATE_NOW="2026-11-09T08:00:00Z")
    assert text.startswith("SESSION-GATE DEBT: the last check is older than a week.")
    assert "left.py" in text


def test_a_marker_from_the_future_and_a_torn_one_are_damaged(machine: Machine, project: Path) -> None:
    machine.text("end", cwd=project, SESSION_GATE_NOW="2026-11-30T08:00:00Z")
    assert machine.verdict(project, SESSION_GATE_NOW="2026-11-29T08:00:00Z") == "damaged"
    marker = machine.project_dir() / "marker.json"
    marker.write_bytes(marker.read_bytes()[:-40])
    assert machine.verdict(project) == "damaged"
    assert machine.text("start", cwd=project) == ""
    assert machine.verdict(project) == "green"


def test_a_newer_versions_marker_is_neither_believed_nor_overwritten(machine: Machine, project: Path) -> None:
    machine.text("end", cwd=project)
    marker = machine.project_dir() / "marker.json"
    newer = marker.read_bytes().replace(b'"schema": 1', b'"schema": 2', 1)
    marker.write_bytes(newer)
    assert machine.verdict(project) == "damaged"
    assert "newer session-gate" in machine.text("start", cwd=project)
    assert machine.gate("end", cwd=project).returncode == 2
    assert marker.read_bytes() == newer


def test_two_repositories_of_one_name_and_a_subdirectory(machine: Machine) -> None:
    one, two = machine.directory / "a", machine.directory / "b"
    one.mkdir()
    two.mkdir()
    first, second = Machine.repository(machine, "a/same"), Machine.repository(machine, "b/same")
    (first / "sub").mkdir()
    (first / "left.py").write_text("")
    machine.text("end", cwd=first / "sub", code=1)
    assert machine.verdict(first) == machine.verdict(first / "sub") == "debt"
    assert machine.verdict(second) == "first"


def test_list_names_every_check_with_what_is_in_force(machine: Machine, project: Path) -> None:
    (project / ".gate.toml").write_text('disable = ["temp_size"]\n[checks.capture_streams]\nmax_streams = 5\n')
    machine.commit(project)
    rows = {row["check"]: row for row in machine.json("list", cwd=project)["checks"]}
    assert list(rows) == list(BUILT_IN)
    assert rows["temp_size"]["state"] == "off"
    assert rows["capture_streams"]["options"]["max_streams"] == 5
    assert all(row["incident"] and row["summary"] for row in rows.values())
    assert "max_streams = 5" in machine.text("list", cwd=project)
    results = {result["check"]: result for result in machine.json("run", cwd=project)["results"]}
    assert set(results) == set(BUILT_IN)
    assert results["temp_size"]["outcome"] == "skipped"
    assert results["temp_size"]["reason"].startswith("disabled by ")


@pytest.mark.parametrize("check", BUILT_IN)
def test_explain_shows_incident_and_every_option(machine: Machine, project: Path, check: str) -> None:
    text = machine.text("explain", check, cwd=project)
    value = machine.json("explain", check, cwd=project)
    assert value["incident"].splitlines()[0] in text
    assert "ignore" in [option["name"] for option in value["options"]]
    for option in value["options"]:
        assert f"  {option['name']} = " in text
        assert option["help"]
        assert option["origin"]


def test_configuration_errors_name_file_key_and_cure(machine: Machine, project: Path) -> None:
    (project / ".gate.toml").write_text("[checks.temp_size]\nmax_bites = 1\n")
    machine.commit(project)
    done = machine.gate("config", cwd=project)
    assert done.returncode == 2
    assert f"# {machine.config}: read\n# {project}/.gate.toml: read\n" in done.stdout.decode()
    (line,) = done.stderr.decode().splitlines()
    for part in (".gate.toml", "max_bites", "max_bytes"):
        assert part in line
    run = machine.gate("run", cwd=project)
    assert run.returncode == 2
    assert b"max_bites" in run.stderr
    text = machine.text("start", cwd=project)
    assert "CONFIG: could not check" in text
    assert machine.gate("end", cwd=project).returncode == 2
    assert machine.marker()["state"] == "debt"


def test_what_loosens_the_configuration_is_said_once(machine: Machine, project: Path) -> None:
    machine.text("end", cwd=project)
    (project / ".gate.toml").write_text('disable = ["temp_size"]\n')
    machine.commit(project)
    machine.text("end", cwd=project)
    assert machine.verdict(project) == "stale"
    assert "temp_size is disabled by" in machine.text("start", cwd=project)
    assert machine.text("start", cwd=project) == ""
    assert machine.verdict(project) == "green"


def test_the_directory_option_before_and_after_the_command(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    for words in (["-C", str(project), "run"], ["run", "-C", str(project)], ["-C", "..", "run", "-C", project.name]):
        assert "left.py" in machine.text(*words, cwd=project if words[1] == ".." else machine.directory, code=1)
    done = machine.gate("run", "-C", "nowhere", cwd=project)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"nowhere: no such directory" in done.stderr


def test_help_has_an_example_for_every_command(machine: Machine, project: Path) -> None:
    assert set(re.findall(r"^  (\w+) ", machine.text("--help", cwd=project), re.MULTILINE)) >= set(COMMANDS)
    for command in COMMANDS:
        assert f"Example: gate {command}" in machine.text(command, "--help", cwd=project)
        assert machine.text(command, "--version", cwd=project) == machine.text("--version", cwd=project)
    assert machine.text("--version", cwd=project).startswith("session-gate")
    lines = machine.text("--help", cwd=project).partition("Commands:")[2].splitlines()
    cut_off = [line for line in lines if line.endswith("...") and line.split()[0] in COMMANDS]
    assert cut_off == [], "on 80 columns a command's line says all of it"


def test_both_names_are_the_same_program(machine: Machine, project: Path) -> None:
    done = subprocess.run(
        [GATE.parent / "session-gate", "--version"], env=machine.environ, capture_output=True, check=True
    )
    assert done.stdout == machine.gate("--version", cwd=project).stdout


def test_no_colour_off_a_terminal_and_nothing_on_stderr(machine: Machine, project: Path) -> None:
    (project / "left.py").write_text("")
    done = machine.gate("run", cwd=project)
    assert b"\x1b" not in done.stdout
    assert done.stderr == b""


def let_be_interrupted() -> None:
    """What a shell starts in the background ignores interrupts, and so does all that it starts: perhaps these tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_exits_130(machine: Machine, project: Path) -> None:
    checks = machine.directory / "config" / "checks"
    checks.mkdir(mode=0o700)
    fifo = machine.directory / "fifo"
    os.mkfifo(fifo)
    (checks / "slow.py").write_text(
        "import time\nfrom gate.api import Check, hookimpl\n"
        f"def find(context):\n    open({str(fifo)!r}, 'w').close()\n    time.sleep(60)\n"
        "@hookimpl\ndef gate_check():\n"
        "    return Check(name='slow', label='SLOW', summary='slow', run=find, incident='# Slow\\nnobody knew why.')\n"
    )
    with subprocess.Popen(
        [GATE, "run"],
        cwd=project,
        env=machine.environ,
        stdout=-1,
        stderr=-1,
        preexec_fn=let_be_interrupted,  # noqa: PLW1509
    ) as process:
        fifo.read_bytes()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err.strip() == b"session-gate: interrupted"


def test_a_check_that_prints_does_not_reach_standard_output(machine: Machine, project: Path) -> None:
    checks = machine.directory / "config" / "checks"
    checks.mkdir(mode=0o700)
    (checks / "loud.py").write_text(
        "import os\nfrom gate.api import Check, hookimpl\nprint('LOUD')\n"
        "def find(context):\n    print('LOUD', flush=True)\n    os.system('echo LOUD')\n    return []\n"
        "@hookimpl\ndef gate_check():\n"
        "    return Check(name='loud', label='LOUD', summary='loud', run=find, incident='# Loud\\nso in the JSON.')\n"
    )
    done = machine.gate("run", "--format", "json", cwd=project)
    assert json.loads(done.stdout)["state"] == "ok"
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    value = json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"})
    hook = machine.gate("hook", "start", "--client", "claude", cwd=project, payload=value.encode())
    assert "left.py" in json.loads(hook.stdout)["hookSpecificOutput"]["additionalContext"]


def test_the_program_runs_as_a_module_from_anywhere(machine: Machine, project: Path) -> None:
    python = GATE.parent / "python"
    (project / "gate").mkdir()
    (project / "gate" / "__init__.py").write_text("raise SystemExit('a planted package was imported')\n")
    done = subprocess.run([GATE, "run"], cwd=project, env=machine.environ, capture_output=True, check=False)
    assert b"planted" not in done.stdout + done.stderr
    assert done.returncode == 1
    done = subprocess.run(
        [python, "-m", "gate", "--version"], cwd="/", env=machine.environ, capture_output=True, check=True
    )
    assert done.stdout.startswith(b"session-gate")


def shell(machine: Machine, cwd: Path, command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["sh", "-c", command], cwd=cwd, env=machine.environ, capture_output=True, check=False)


def test_closed_streams_and_a_deleted_directory_are_survived(machine: Machine, project: Path) -> None:
    payload = json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"})
    for words, code in (
        (f"{GATE} run", 0),
        (f"{GATE} status", 0),
        (f"{GATE} start", 0),
        (f"echo '{payload}' | {GATE} hook start --client claude", 0),
        (f"echo '{payload}' | {GATE} hook end --client claude", 0),
    ):
        for closed in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            command = f"exec 3>&1; {words} {closed if '|' not in words else closed.removeprefix('<&- ')}"
            done = subprocess.run(
                ["sh", "-c", command], cwd=project, env=machine.environ, capture_output=True, check=False
            )
            assert (done.returncode, done.stderr) == (code, b""), command
    machine.settle()
    gone = machine.directory / "gone"
    for command in ("run", "start", "status"):
        script = f"mkdir {gone} && cd {gone} && rmdir {gone} && {GATE} {command}"
        done = shell(machine, machine.directory, script)
        assert (done.returncode, done.stderr) == (0, b""), command


def test_a_remedy_pasted_into_a_shell_runs_nothing_that_a_name_says(machine: Machine, project: Path) -> None:
    (project / ".claude").mkdir()
    (project / ".claude" / "a$(touch pwned)`touch pwned`'; touch pwned; b.lock").write_text("999999")
    (project / "$(touch pwned)").mkdir()
    (project / "$(touch pwned)" / "x").write_text("")
    report = machine.json("run", cwd=project, code=1)
    lock = next(finding for finding in report["findings"] if finding["check"] == "stale_locks")
    command = lock["remedy"].partition(" and ps")[0]
    assert command.startswith("ls -l ")
    done = shell(machine, project, command)
    assert b"b.lock" in done.stdout, (command, done.stderr)
    assert not (project / "pwned").exists()


def test_a_disk_that_is_full_at_standard_output_is_no_crash(machine: Machine, project: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([GATE, "run"], cwd=project, env=machine.environ, stdout=full, stderr=-1, check=False)
    assert done.returncode == 2
    assert done.stderr == b"session-gate: error: the results could not be written: No space left on device\n"
