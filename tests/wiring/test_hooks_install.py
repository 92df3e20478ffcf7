"""Installing and uninstalling against real files: back to the byte in every layout, and after a kill at every point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from json_layouts import layouts
from kit import clean_environ
from test_hook_entries import settings as somebodys_settings

import gate
from gate.clients import claude, copilot
from gate.errors import GateError
from gate.wiring import hooks_install
from gate.wiring.change import Change, Place
from gate.wiring.client_settings import find_installed, settings_path
from gate.wiring.clients import Client
from gate.wiring.install_record import Keeper
from gate.wiring.installed_line import Installation

INTERRUPTED = Path(__file__).parent.parent / "interrupted.py"
MOST_POINTS = 60


def installation(version: str = "1") -> Installation:
    return Installation(f"/opt/gate-{version}/bin/python", "/opt/gate/hook.py", "/opt/bin/session-gate")


class Home:
    """A home directory with a client's settings, and a state directory."""

    def __init__(self, path: Path, client: Client = claude) -> None:
        self.client = client
        self.environ = clean_environ(path)
        self.settings = Path(settings_path(client, "user", self.environ, ""))
        self.state = Path(self.environ["SESSION_GATE_STATE_DIR"])
        self.place = Place(self.environ, "", str(self.state), 1_800_000_000.0)

    def put(self, data: bytes | None) -> None:
        """Make the settings hold these bytes, or be missing."""
        if data is None:
            self.settings.unlink(missing_ok=True)
        else:
            self.settings.parent.mkdir(exist_ok=True)
            self.settings.write_bytes(data)

    def holds(self) -> bytes | None:
        """What the settings hold."""
        return self.settings.read_bytes() if self.settings.exists() else None

    def install(self, version: str = "1") -> Change:
        self.place = self.place._replace(now=self.place.now + 60)
        return hooks_install.install(self.client, "user", self.place, lambda: installation(version))

    def uninstall(self) -> Change:
        return hooks_install.uninstall(self.client, "user", self.place)

    def entries(self) -> int:
        """How many entries of ours there are."""
        return len(find_installed(self.client, self.environ, "/"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "user")


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=layouts(somebodys_settings()))
def test_uninstalling_restores_to_the_byte_in_every_layout(home: Home, text: str) -> None:
    before = text.encode()
    home.put(before)
    assert home.install().changed
    installed = home.holds()
    assert not home.install().changed
    assert home.holds() == installed
    assert home.install("2").changed
    assert home.entries() == 2
    assert home.uninstall().changed
    assert home.holds() == before
    assert not home.uninstall().changed


def test_after_somebodys_change_an_update_forgets_the_way_back_and_still_takes_all_out(home: Home) -> None:
    home.put(b'{ "hooks": { } }')
    home.install("1")
    changed = (home.holds() or b"").replace(b'{ "hooks"', b'{ "model": "opus", "hooks"', 1)
    home.put(changed)
    home.install("2")
    home.uninstall()
    assert json.loads(home.holds() or b"") == {"model": "opus", "hooks": {}}


def test_a_file_that_was_made_goes_after_an_update_too(home: Home) -> None:
    home.install("1")
    home.install("2")
    home.uninstall()
    assert not home.settings.parent.exists()


def test_entries_taken_out_by_hand_leave_no_memory_that_could_overwrite(home: Home) -> None:
    home.put(b'{"a": 1}')
    home.install()
    home.put(b'{"a": 2}')
    assert not home.uninstall().changed
    home.install()
    home.uninstall()
    assert home.holds() == b'{"a": 2}'


def test_a_lost_backup_or_a_damaged_record_is_no_obstacle(home: Home) -> None:
    home.put(b'{"a": 1}')
    change = home.install()
    Path(change.backup).unlink()
    home.uninstall()
    assert home.holds() == b'{"a": 1}'
    for damage in (b"", b"{", b"[]", b'{"schema": 2}', b'{"schema": 1, "made": 3}', b"\xff"):
        home.install()
        (record,) = home.state.glob("settings/*/record.json")
        record.write_bytes(damage)
        home.uninstall()
        assert home.holds() == b'{"a": 1}', damage


def test_the_backup_that_leads_back_is_never_thinned_out(home: Home) -> None:
    before = b'{ "hooks": { } }'
    home.put(before)
    for version in range(30):
        home.install(str(version))
    assert home.uninstall().changed
    assert home.holds() == before
    (directory,) = home.state.glob("settings/*")
    assert 20 <= len(list(directory.glob("*.backup"))) <= 21
    home.install()
    home.uninstall()
    assert len(list(directory.glob("*.backup"))) == 20


def test_nothing_is_written_where_there_is_nothing_to_do(home: Home) -> None:
    home.put(b'{"a": 1}')
    assert not home.uninstall().changed
    assert os.listdir(home.state) == []


def test_without_a_state_directory_nothing_is_changed(home: Home) -> None:
    home.put(b"{}")
    home.state.rmdir()
    home.state.write_text("")
    with pytest.raises(GateError, match="state"):
        home.install()
    assert home.holds() == b"{}"


def test_a_symlink_to_another_file_is_another_installation(home: Home, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text('{ "name": "' + name + '" }')
    home.settings.parent.mkdir()
    home.settings.symlink_to(tmp_path / "one")
    home.install()
    home.settings.unlink()
    home.settings.symlink_to(tmp_path / "two")
    assert not home.uninstall().changed
    assert (tmp_path / "two").read_text() == '{ "name": "two" }'
    home.settings.unlink()
    home.settings.symlink_to(tmp_path / "one")
    home.uninstall()
    assert (tmp_path / "one").read_text() == '{ "name": "one" }'


class Interrupted:
    """Runs `gate install` or `gate uninstall` for one client, interrupted at one of its calls that change the disk."""

    def __init__(self, home: Home, directory: Path) -> None:
        self.home = home
        self.interpreter = directory / "interpreter"
        self.interpreter.write_text(f"#!{sys.executable} -I\n{INTERRUPTED.read_text()}")
        self.interpreter.chmod(0o755)
        self.counter = directory / "counter"
        self.program = Path(next(iter(gate.__path__))) / "__main__.py"

    def run(self, command: str, point: int, mode: str) -> tuple[int, str, bool]:
        """Its exit code, its diagnostics, and whether it came as far as the point."""
        self.counter.write_bytes(b"")
        environ = self.home.environ | {
            "GATE_TEST_POINT": str(point),
            "GATE_TEST_MODE": mode,
            "GATE_TEST_COUNTER": str(self.counter),
            "GATE_TEST_INTERPRETER": str(self.interpreter),
        }
        done = subprocess.run(
            [self.interpreter, self.program, command, self.home.client.NAME],
            cwd=self.home.state,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        errors = [line for line in done.stderr.splitlines() if "warning: " not in line]
        return done.returncode, "\n".join(errors), self.counter.stat().st_size >= point


@pytest.mark.parametrize(
    ("client", "mode", "before"),
    [
        (claude, "kill", b'{ "hooks": { }, "a": 1 }'),
        (claude, "kill", None),
        (claude, "ENOSPC", b'{ "hooks": { }, "a": 1 }'),
        (copilot, "kill", None),
    ],
    ids=["killed", "killed, no file", "no space", "killed, a file of its own"],
)
def test_an_interruption_leaves_the_old_settings_or_the_new(
    tmp_path: Path, client: Client, mode: str, before: bytes | None
) -> None:
    home = Home(tmp_path / "user", client)
    every = len(client.HOOKS)
    interrupted = Interrupted(home, tmp_path)
    whole = {"install": every, "update": every, "uninstall": 0}
    for command, count in whole.items():
        for point in range(1, MOST_POINTS):
            home.put(before)
            if command != "install":
                home.install()
            start = home.holds()
            code, errors, reached = interrupted.run(command.replace("update", "install"), point, mode)
            assert code in {"kill": (0, -9), "ENOSPC": (0, 2)}[mode], (command, point, errors)
            assert len(errors.splitlines()) == (code == 2), (command, point, errors)
            assert home.holds() == start or home.entries() == count, (command, point)
            if code == 0:
                assert home.entries() == count
            if command == "install":
                home.install()
                assert home.entries() == every
            home.uninstall()
            assert home.holds() == before, (command, point)
            left = os.listdir(home.settings.parent) if home.settings.parent.exists() else []
            assert mode == "kill" or left == ([home.settings.name] if before else []), (command, point)
            for name in left:
                (home.settings.parent / name).unlink()
            if not reached:
                break
        else:
            pytest.fail("more points than expected")
        assert point > 4


def test_the_record_says_whose_file_it_is(home: Home) -> None:
    home.install()
    (record,) = home.state.glob("settings/*/record.json")
    assert json.loads(record.read_text())["file"] == str(home.settings)
    assert Keeper(str(home.state), str(home.settings)).directory == str(record.parent)


@pytest.mark.parametrize("link", [".claude", ".claude/settings.json", ".claude/settings.local.json"])
@pytest.mark.parametrize("there", [True, False])
def test_a_projects_settings_that_lead_out_of_it_are_not_written(
    home: Home, tmp_path: Path, link: str, there: bool
) -> None:
    """Other people put the link there, and could have any JSON file of the user's changed, or a new one made."""
    project, target = tmp_path / "project", tmp_path / "elsewhere"
    (project / link).parent.mkdir(parents=True)
    target.mkdir()
    names = ("settings.json", "settings.local.json") if link == ".claude" else ("a.json",)
    if there:
        for name in names:
            (target / name).write_text("{}")
    (project / link).symlink_to(target if link == ".claude" else target / names[0])
    home.place = home.place._replace(worktree=str(project))
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    refused = 0
    for scope in ("project", "local"):
        if link in (".claude", f".claude/settings{'.local' if scope == 'local' else ''}.json"):
            with pytest.raises(GateError, match="is a link that leads out of the project"):
                hooks_install.install(claude, scope, home.place, installation)
            refused += 1
    assert refused
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_a_link_within_the_project_is_followed(home: Home, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude/settings.json").symlink_to("../team.json")
    home.place = home.place._replace(worktree=str(project))
    assert hooks_install.install(claude, "project", home.place, installation).changed
    assert "session-gate" in (project / "team.json").read_text()
