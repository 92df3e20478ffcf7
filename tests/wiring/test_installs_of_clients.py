"""Every client's settings, in the shapes that people give them: installed, twice, taken out again to the byte."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from json_layouts import layouts
from kit import clean_environ
from test_hook_entries import settings as somebodys_settings

from gate.clients import FLAT, GROUPED, OWN_FILE
from gate.errors import GateError
from gate.wiring import hook_entries, hooks_install
from gate.wiring.change import ADDED, ALREADY, NOTHING, REMOVED, UPDATED, Change, Place
from gate.wiring.client_settings import find_installed, look_at, settings_path
from gate.wiring.clients import CLIENTS, Client
from gate.wiring.hook_entries import dialect_of
from gate.wiring.installed_line import Installation
from gate.wiring.jsontree import parse
from gate.wiring.own_commands import boundary_of

THEIR_GROUP = {"matcher": "startup", "hooks": [{"type": "command", "command": "echo hi"}]}
SHAPES = {
    GROUPED: {
        "missing": None,
        "empty file": "",
        "empty object": "{}",
        "other settings": '{"model": "x", "env": {"A": "1"}}\n',
        "others' hooks": json.dumps({"hooks": {"SessionStart": [THEIR_GROUP], "Stop": [THEIR_GROUP]}}, indent=2),
        "tabs, CRLF, byte order mark": "\ufeff" + json.dumps({"a": {"b": 1}}, indent="\t").replace("\n", "\r\n"),
        "empty containers": '{ "hooks": { "SessionStart": [ ] } }',
    },
    FLAT: {
        "missing": None,
        "empty file": "",
        "empty object": "{}",
        "version alone": '{"version": 1}\n',
        "others' hooks": json.dumps({"version": 1, "hooks": {"stop": [{"command": "x"}], "sessionEnd": []}}, indent=4),
        "no version": '{"hooks": {"sessionStart": [{"command": "echo hi"}]}}',
    },
}
COMMENTED = """{
  // The theme of this terminal.
  "ui": {"theme": "GitHub"}, /* the light one */
  "hooks": {
    // "SessionStart": [],
    "SessionEnd": [
      {"hooks": [{"type": "command", "command": "echo bye"}]} // at the end
    ] // of hooks
  } // last
}
"""
JSON_CLIENTS = [client for client in CLIENTS.values() if client.FORM != OWN_FILE]
OWN_FILE_CLIENTS = [client for client in CLIENTS.values() if client.FORM == OWN_FILE]
CASES = [
    pytest.param(client, text, id=f"{client.NAME}, {shape}")
    for client in JSON_CLIENTS
    for shape, text in (SHAPES[client.FORM] | ({"comments": COMMENTED} if client.COMMENTS else {})).items()
]


class Home:
    """A home directory with one client's settings, and a state directory."""

    def __init__(self, path: Path, client: Client) -> None:
        self.client = client
        self.environ = clean_environ(path)
        self.settings = Path(settings_path(client, "user", self.environ, ""))
        self.place = Place(self.environ, "", self.environ["SESSION_GATE_STATE_DIR"], 1_800_000_000.0)

    def put(self, data: bytes | None) -> None:
        if data is None:
            self.settings.unlink(missing_ok=True)
        else:
            self.settings.parent.mkdir(parents=True, exist_ok=True)
            self.settings.write_bytes(data)

    def holds(self) -> bytes | None:
        return self.settings.read_bytes() if self.settings.exists() else None

    def install(self, version: str = "1", dry: bool = False) -> Change:
        self.place = self.place._replace(now=self.place.now + 60)
        found = Installation(f"/opt/gate-{version}/bin/python", "/opt/gate/hook.py", "/opt/bin/session-gate")
        return hooks_install.install(self.client, "user", self.place, lambda: found, dry)

    def uninstall(self) -> Change:
        return hooks_install.uninstall(self.client, "user", self.place)

    def value(self) -> Any:
        return parse((self.holds() or b"").decode(), dialect_of(self.client)).value


def hooks_of(client: Client, value: Any) -> dict[str, list[dict[str, Any]]]:
    """Each hook by event, without groups."""
    found = value.get("hooks", {})
    if client.FORM == FLAT:
        return dict(found)
    return {event: [hook for group in groups for hook in group["hooks"]] for event, groups in found.items()}


@pytest.mark.parametrize(("client", "text"), CASES)
def test_install_adds_ours_and_uninstall_restores_to_the_byte(tmp_path: Path, client: Client, text: str | None) -> None:
    home = Home(tmp_path, client)
    before = None if text is None else text.encode()
    home.put(before)
    assert set(home.install(dry=True).done.values()) == {ADDED}
    assert home.holds() == before

    assert set(home.install().done.values()) == {ADDED}
    installed = home.holds()
    value = home.value()
    if client.FORM == FLAT:
        assert value["version"] == 1
    theirs = {} if not (text or "").strip() else parse(text or "", dialect_of(client)).value
    for event, boundary, seconds in client.HOOKS:
        hooks = hooks_of(client, value)[event]
        assert hooks[:-1] == hooks_of(client, theirs).get(event, [])
        assert boundary_of(hooks[-1]["command"], client.NAME) == boundary
        assert hooks[-1]["timeout"] == seconds * client.UNIT
        assert hooks[-1].get("type") == ("command" if client.FORM == GROUPED else None)
    kept = {key: member for key, member in value.items() if key not in ("hooks", "version")}
    assert kept == {key: member for key, member in theirs.items() if key not in ("hooks", "version")}
    for comment in re.findall(r"// .*|/\* .* \*/", text or ""):
        assert comment in (installed or b"").decode()

    again = home.install()
    assert (again.changed, set(again.done.values())) == (False, {ALREADY})
    assert home.holds() == installed
    assert set(home.install("2").done.values()) == {UPDATED}
    assert set(home.uninstall().done.values()) == {REMOVED}
    assert home.holds() == before
    assert home.settings.parent.exists() is (before is not None)
    assert set(home.uninstall().done.values()) == {NOTHING}


@pytest.mark.parametrize(("client", "text"), [case for case in CASES if case.values[1] not in (None, "")])
def test_what_somebody_changed_since_stays(tmp_path: Path, client: Client, text: str) -> None:
    home = Home(tmp_path, client)
    home.put(text.encode())
    home.install()
    changed = (home.holds() or b"").decode().replace("{", '{"mine": [1],', 1)
    home.put(changed.encode())
    home.uninstall()
    theirs = parse(text, dialect_of(client)).value
    if client.FORM == FLAT and "hooks" in theirs:
        theirs["version"] = 1  # which other hooks need too, whoever wrote it
    assert home.value() == {"mine": [1]} | theirs
    for comment in re.findall(r"// .*|/\* .* \*/", text):
        assert comment in (home.holds() or b"").decode()


@pytest.mark.parametrize("client", [client for client in JSON_CLIENTS if client.COMMENTS], ids=lambda one: one.NAME)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=layouts(somebodys_settings(), comments=True))
def test_any_commented_settings_are_restored(tmp_path: Path, client: Client, text: str) -> None:
    home = Home(tmp_path, client)
    home.put(text.encode())
    home.install()
    assert len(hook_entries.entries(client, parse((home.holds() or b"").decode(), dialect_of(client)))) == 2
    made = home.install("2")
    assert set(made.done.values()) == {UPDATED}
    home.put((home.holds() or b"") + b"\n")  # somebody's change: from here on only our entries go
    home.uninstall()
    assert home.value() == parse(text, dialect_of(client)).value
    home.put(None)
    home.uninstall()


@pytest.mark.parametrize("client", JSON_CLIENTS, ids=lambda one: one.NAME)
@pytest.mark.parametrize(
    "text",
    ['{"hooks": {}, }', '{"hooks": []}', "{", '{"hooks": {"SessionStart": 1, "sessionStart": 1}}', '{"a": "\xff"}'],
)
def test_a_broken_file_is_left_alone(tmp_path: Path, client: Client, text: str) -> None:
    home = Home(tmp_path, client)
    home.put(text.encode("latin-1"))
    for act in (home.install, home.uninstall):
        with pytest.raises(GateError, match=r"(?s)line 1"):
            act()
        assert home.holds() == text.encode("latin-1")
    assert list(look_at(client, home.environ, str(tmp_path)).unreadable) == [str(home.settings)]


def test_comments_are_refused_where_the_client_does_not_read_them(tmp_path: Path) -> None:
    assert {client.NAME for client in JSON_CLIENTS if client.COMMENTS} == {"gemini", "qwen"}
    for client in JSON_CLIENTS:
        home = Home(tmp_path / client.NAME, client)
        home.put(COMMENTED.encode())
        if not client.COMMENTS:
            with pytest.raises(GateError, match="line 2: a comment, which JSON does not have"):
                home.install()
            assert home.holds() == COMMENTED.encode()


def test_another_version_of_cursors_file_is_not_touched(tmp_path: Path) -> None:
    home = Home(tmp_path, CLIENTS["cursor"])
    home.put(b'{"version": 2, "hooks": {}}')
    with pytest.raises(GateError, match="line 1: version: 1 is expected here"):
        home.install()
    assert home.holds() == b'{"version": 2, "hooks": {}}'


def test_a_hook_of_cursors_is_found_wherever_it_stands(tmp_path: Path) -> None:
    home = Home(tmp_path, CLIENTS["cursor"])
    mine = {"command": "gate hook start --client cursor", "matcher": "x", "timeout": 1}
    value = {"version": 1, "hooks": {"sessionStart": [{"command": "echo"}, mine], "stop": [mine], "odd": [3, [mine]]}}
    home.put(json.dumps(value).encode())
    found = find_installed(home.client, home.environ, str(tmp_path))
    assert [(one.event, one.matcher, one.seconds, one.effective) for one in found] == [
        ("sessionStart", "x", 1, True),
        ("stop", "x", 1, False),
    ]
    assert dict(home.install().done) == {"sessionStart": UPDATED, "sessionEnd": ADDED, "stop": REMOVED}
    hooks = home.value()["hooks"]
    assert (hooks["sessionStart"][0], len(hooks["sessionStart"]), hooks["odd"]) == ({"command": "echo"}, 2, [3, [mine]])
    assert hooks["stop"] == []
    assert sorted(hooks["sessionStart"][1]) == ["command", "timeout"]
    home.uninstall()
    assert home.value()["hooks"]["sessionStart"] == [{"command": "echo"}]


@pytest.mark.parametrize("client", OWN_FILE_CLIENTS, ids=lambda one: one.NAME)
def test_a_file_of_our_own_comes_and_goes(tmp_path: Path, client: Client) -> None:
    home = Home(tmp_path, client)
    assert set(home.install(dry=True).done.values()) == {ADDED}
    assert home.holds() is None
    assert set(home.install().done.values()) == {ADDED}
    installed = home.holds() or b""
    assert b"gate uninstall " + client.NAME.encode() in installed
    found = [(one.event, one.boundary) for one in find_installed(client, home.environ, str(tmp_path))]
    assert found == [(event, boundary) for event, boundary, _ in client.HOOKS]
    assert set(home.install().done.values()) == {ALREADY}
    home.put(installed + b"\n")
    updated = home.install()
    assert set(updated.done.values()) == {UPDATED}
    assert Path(updated.backup).read_bytes() == installed + b"\n"
    assert home.holds() == installed
    assert set(home.uninstall().done.values()) == {REMOVED}
    assert not home.settings.parent.exists()
    assert set(home.uninstall().done.values()) == {NOTHING}


@pytest.mark.parametrize("client", OWN_FILE_CLIENTS, ids=lambda one: one.NAME)
def test_a_file_of_this_name_that_is_not_ours_is_left_alone(tmp_path: Path, client: Client) -> None:
    home = Home(tmp_path, client)
    home.put(b"export const Mine = 1\n")
    with pytest.raises(GateError, match="is not the gate's own file: it does not call the gate; move it away"):
        home.install()
    assert set(home.uninstall().done.values()) == {NOTHING}
    assert home.holds() == b"export const Mine = 1\n"
    assert find_installed(client, home.environ, str(tmp_path)) == []


@pytest.mark.parametrize("client", OWN_FILE_CLIENTS, ids=lambda one: one.NAME)
def test_a_file_of_our_own_goes_where_its_record_is_lost_and_leaves_its_neighbours(
    tmp_path: Path, client: Client
) -> None:
    home = Home(tmp_path, client)
    home.install()
    other = home.settings.with_name("other")
    other.write_text("")
    for record in Path(home.place.state_root).glob("settings/*/record.json"):
        record.unlink()
    home.uninstall()
    assert [path.name for path in home.settings.parent.iterdir()] == ["other"]


@pytest.mark.parametrize(
    ("name", "off", "on"),
    [
        ("gemini", {"hooksConfig": {"enabled": False}}, {"hooksConfig": {"enabled": True}}),
        ("qwen", {"disableAllHooks": True}, {"disableAllHooks": False}),
        ("droid", {"hooksDisabled": True}, {"hooksDisabled": "yes"}),
    ],
)
def test_the_switch_of_each_client_is_known(tmp_path: Path, name: str, off: object, on: object) -> None:
    home = Home(tmp_path, CLIENTS[name])
    for value, by in ((off, str(home.settings)), (on, ""), ({"hooksConfig": 1}, "")):
        home.put(json.dumps(value).encode())
        assert look_at(home.client, home.environ, str(tmp_path), managed=str(tmp_path / "none")).disabled_by == by


def test_a_file_that_is_read_in_place_of_the_settings_is_known(tmp_path: Path) -> None:
    home = Home(tmp_path, CLIENTS["droid"])
    home.install()
    assert look_at(home.client, home.environ, str(tmp_path)).shadowed == {}
    instead = home.settings.with_name("hooks.json")
    instead.write_text("{}")
    assert look_at(home.client, home.environ, str(tmp_path)).shadowed == {str(home.settings): str(instead)}
