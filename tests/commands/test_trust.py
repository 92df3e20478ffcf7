"""A project's own checks run after `gate trust`, for exactly the content that was trusted, and never before."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from kit import Client, Machine, green

from gate.stamp import MOST_BROUGHT

CODE = """
from pathlib import Path
from gate.api import Check, Finding, hookimpl, say

Path({ran!r}).touch()


def find(context):
    yield Finding(key="one", summary=say("found by the project's own"))


@hookimpl
def gate_check():
    return Check("ours", "OURS", "# Something happened\\nA figure: 3.", "always", find)
"""


class Brought:
    """A project that brings a check, which leaves a file when it is as much as imported."""

    def __init__(self, machine: Machine) -> None:
        self.project = machine.repository()
        self.ran = machine.directory / "it ran"
        self.checks = self.project / ".gate" / "checks"
        self.file = self.checks / "ours.py"
        self.checks.mkdir(parents=True)
        self.file.write_text(CODE.format(ran=str(self.ran)))
        machine.commit(self.project)

    def has_run(self) -> bool:
        ran = self.ran.exists()
        self.ran.unlink(missing_ok=True)
        return ran


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def brought(machine: Machine) -> Brought:
    return Brought(machine)


def said(machine: Machine, brought: Brought, code: int = 1) -> str:
    return machine.text("run", cwd=brought.project, code=code)


def test_what_is_not_trusted_is_named_and_not_even_imported(machine: Machine, brought: Brought) -> None:
    text = said(machine, brought)
    assert f"PLUGIN (unknown): could not check: {brought.file}: is this project's own, and not trusted" in text
    assert "A person decides, who reads ours.py first (gate trust)" in text
    client = Client(machine, brought.project)
    assert "not trusted" in client.start()
    client.end()
    for words in (["list"], ["status"], ["config"], ["explain", "temp_size"], ["doctor"], ["trust", "--list"], ["end"]):
        machine.gate(*words, cwd=brought.project)
    assert not brought.has_run()


def test_what_is_trusted_runs_until_it_changes(machine: Machine, brought: Brought) -> None:
    digest = hashlib.sha256(brought.file.read_bytes()).hexdigest()
    assert machine.text("trust", cwd=brought.project) == f"Trusted: {brought.file} (SHA-256 {digest})\n"
    assert not brought.has_run()
    text = said(machine, brought)
    assert "OURS: found by the project's own" in text
    assert "PLUGIN" not in text
    assert brought.has_run()
    assert str(brought.file) in machine.text("list", cwd=brought.project)
    assert brought.has_run()

    brought.file.write_bytes(brought.file.read_bytes() + b"\n")
    assert "has changed since it was trusted: it was not run" in said(machine, brought)
    assert not brought.has_run()
    machine.text("trust", "ours.py", cwd=brought.project)
    assert "OURS: " in said(machine, brought)

    machine.text("trust", "--revoke", cwd=brought.project)
    brought.has_run()
    assert "not trusted" in said(machine, brought)
    assert not brought.has_run()


def test_trust_is_of_one_project_and_one_file(machine: Machine, brought: Brought) -> None:
    other = machine.directory / "clone"
    machine.git(machine.directory, "clone", "--quiet", str(brought.project), str(other))
    (brought.checks / "theirs.py").write_bytes(brought.file.read_bytes())
    machine.text("trust", "ours.py", cwd=brought.project)
    assert "theirs.py: is this project's own, and not trusted" in said(machine, brought)
    assert "not trusted" in machine.text("run", cwd=other, code=1)


def test_an_agents_worktree_arms_nothing(machine: Machine, brought: Brought) -> None:
    """What counts is the main worktree's: a branch cannot bring a check before it is merged."""
    tree = machine.directory / "tree"
    machine.git(brought.project, "worktree", "add", "--quiet", str(tree))
    (tree / ".gate" / "checks" / "more.py").write_text("raise SystemExit")
    assert "checks/more.py: is this" not in machine.text("run", cwd=tree, code=1)
    assert machine.text("trust", "--list", cwd=tree).count(".py") == 1


def test_a_change_is_no_silent_start(machine: Machine, brought: Brought) -> None:
    machine.text("trust", cwd=brought.project)
    machine.text("run", "ours", cwd=brought.project, code=1)
    brought.file.write_text(brought.file.read_text().replace("yield Finding", "return; yield Finding"))
    machine.commit(brought.project)
    machine.text("trust", cwd=brought.project)
    green(machine, brought.project)
    (brought.checks / "new.py").write_text("")
    machine.commit(brought.project)
    assert machine.verdict(brought.project) == "stale"
    assert "new.py" in machine.text("start", cwd=brought.project)


@pytest.mark.parametrize("what", ["file", "directory", "above"])
def test_no_link_is_followed(machine: Machine, brought: Brought, what: str) -> None:
    machine.text("trust", cwd=brought.project)
    path = {"file": brought.file, "directory": brought.checks, "above": brought.checks.parent}[what]
    elsewhere = machine.directory / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    assert "is a link, and no link is followed here" in said(machine, brought)
    assert not brought.has_run()
    refused = machine.gate("trust", cwd=brought.project)
    assert refused.returncode == 2
    assert b"is a link" in refused.stderr


def test_a_neighbour_does_not_slip_in(machine: Machine, brought: Brought) -> None:
    stolen = machine.directory / "stolen"
    for place in (brought.checks, brought.project):
        (place / "helper.py").write_text(f"open({str(stolen)!r}, 'w')")
        (place / "_helper.py").write_text(f"open({str(stolen)!r}, 'w')")
    brought.file.write_text("import helper\nimport _helper\n" + brought.file.read_text())
    machine.text("trust", "ours.py", cwd=brought.project)
    for environ in ({}, {"PYTHONPATH": "."}, {"PYTHONPATH": str(brought.checks)}):
        text = machine.gate("run", cwd=brought.project, **environ).stdout.decode()
        assert "ours.py: " in text
        assert not stolen.exists()


def test_the_list_says_what_is_trusted(machine: Machine, brought: Brought) -> None:
    (brought.checks / "link.py").symlink_to("ours.py")
    (brought.checks / "test_ours.py").write_text("")
    files = {Path(row["file"]).name: row for row in machine.json("trust", "--list", cwd=brought.project)["files"]}
    assert {name: row["state"] for name, row in files.items()} == {"link.py": "unusable", "ours.py": "untrusted"}
    machine.text("trust", "ours.py", cwd=brought.project)
    (row,) = [r for r in machine.json("trust", "--list", cwd=brought.project)["files"] if r["file"].endswith("ours.py")]
    assert row["state"] == "trusted"
    assert len(row["sha256"]) == 64


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trust", "none.py"], "none.py: there is no such file in .gate/checks; gate trust --list shows what there is"),
        (["trust", "--revoke", "ours.py"], "ours.py: is not trusted here; gate trust --list shows what there is"),
        (["trust", "--list", "ours.py"], "--list stands alone"),
    ],
)
def test_mistakes_are_named(machine: Machine, brought: Brought, words: list[str], message: str) -> None:
    done = machine.gate(*words, cwd=brought.project)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("damage", ["writable", "text", "link", "other"])
def test_what_others_could_have_written_is_not_believed(machine: Machine, brought: Brought, damage: str) -> None:
    machine.text("trust", cwd=brought.project)
    kept = machine.state / "trusted.json"
    if damage == "writable":
        kept.chmod(0o666)
    elif damage == "text":
        kept.write_text("{")
    elif damage == "link":
        kept.rename(machine.directory / "moved")
        kept.symlink_to(machine.directory / "moved")
    else:
        value = json.loads(kept.read_text())
        kept.write_text(json.dumps({"schema": 2, "trusted": value["trusted"]}))
    assert "not trusted" in said(machine, brought)
    assert not brought.has_run()


@pytest.mark.parametrize("environ", [{"CLAUDECODE": "1"}, {"CODEX_THREAD_ID": "x"}, {"GEMINI_CLI": "1"}])
def test_an_agent_cannot_trust(machine: Machine, brought: Brought, environ: dict[str, str]) -> None:
    """It has just read a finding that names the file, and would oblige."""
    refused = machine.gate("trust", cwd=brought.project, **environ)
    assert refused.returncode == 2
    assert b"an agent's session cannot trust code" in refused.stderr
    assert machine.gate("trust", "--list", cwd=brought.project, **environ).returncode == 0


def test_more_files_than_anybody_has_are_no_checks(machine: Machine, brought: Brought) -> None:
    """20,000 of them took a start 9 s, were named one by one, and the marker could not be read again."""
    machine.text("trust", cwd=brought.project)
    for number in range(MOST_BROUGHT):
        (brought.checks / f"check_{number:05}.py").write_text("raise SystemExit")
    text = said(machine, brought)
    assert not brought.has_run()
    assert text.count("PLUGIN (unknown)") == 1
    assert (
        f"{brought.checks}: holds {MOST_BROUGHT + 1} files that could be checks, and {MOST_BROUGHT} is the most" in text
    )
    (brought.checks / "check_00000.py").unlink()
    assert "ours" in said(machine, brought)
    assert brought.has_run(), "it is still trusted"


def test_a_state_that_the_project_holds_trusts_nothing(machine: Machine, brought: Brought) -> None:
    """Variables of the environment come from whatever sets them on entering a directory; and git makes files the
    user's own, which nobody else can write.
    """
    machine.text("trust", cwd=brought.project)
    inside = brought.project / ".cache/state"
    inside.mkdir(mode=0o700, parents=True)
    (inside / "trusted.json").write_bytes((machine.state / "trusted.json").read_bytes())
    machine.environ["SESSION_GATE_STATE_DIR"] = str(inside)
    assert "not trusted" in said(machine, brought)
    assert not brought.has_run()
    refused = machine.gate("trust", cwd=brought.project)
    assert refused.returncode == 2
    assert b"lies in this project" in refused.stderr


def test_a_configuration_that_the_project_holds_brings_no_checks(machine: Machine, brought: Brought) -> None:
    """The same for those that lie beside the user's configuration, wherever a variable says that this is."""
    for name in (".config/session-gate", "config"):
        (brought.project / name / "checks").mkdir(parents=True)
        (brought.project / name / "checks/theirs.py").write_text(brought.file.read_text())
        (brought.project / name / "config.toml").write_text("inject_limit = 300\n")
    brought.file.unlink()
    del machine.environ["SESSION_GATE_CONFIG"]
    by_home = {"XDG_CONFIG_HOME": str(brought.project / ".config")}
    for environ in (by_home, {"SESSION_GATE_CONFIG": str(brought.project / "config/config.toml")}):
        text = machine.text("run", cwd=brought.project, code=1, **environ)
        assert not brought.has_run()
        assert "checks: lies in this project: what a repository brings runs from .gate/checks alone" in text
        assert '"value":300' in machine.text("config", "--format", "json", cwd=brought.project, **environ).replace(
            " ", ""
        )
