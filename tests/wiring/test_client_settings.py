"""Which settings files count for a directory, and what they say together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit import clean_environ

from gate.clients import claude
from gate.errors import GateError
from gate.wiring import hooks_install
from gate.wiring.change import Place
from gate.wiring.client_settings import find_installed, look_at, settings_path, worktree_of
from gate.wiring.installed_line import Installation

OURS = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "gate hook start --client claude"}]}]}}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return clean_environ(tmp_path / "user")


def put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_paths(tmp_path: Path) -> None:
    assert settings_path(claude, "user", {"HOME": "/home/you"}, "") == "/home/you/.claude/settings.json"
    assert (
        settings_path(claude, "user", {"HOME": "/home/you", "CLAUDE_CONFIG_DIR": "/srv/c"}, "")
        == "/srv/c/settings.json"
    )
    assert (
        settings_path(claude, "user", {"HOME": "/home/you", "CLAUDE_CONFIG_DIR": ""}, "")
        == "/home/you/.claude/settings.json"
    )
    assert settings_path(claude, "project", {}, "/a/tree") == "/a/tree/.claude/settings.json"
    assert settings_path(claude, "local", {}, "/a/tree") == "/a/tree/.claude/settings.local.json"
    for wrong in ({}, {"HOME": "you"}, {"HOME": "/home/you", "CLAUDE_CONFIG_DIR": "~/.claude"}):
        with pytest.raises(GateError, match=r"(HOME|CLAUDE_CONFIG_DIR) has to be an absolute path"):
            settings_path(claude, "user", wrong, "")
    assert worktree_of(str(tmp_path)) == str(tmp_path)


def test_in_a_home_that_is_the_project_the_projects_settings_are_not_meant(environ: dict[str, str]) -> None:
    for change in (
        lambda place: hooks_install.uninstall(claude, "project", place),
        lambda place: hooks_install.install(claude, "project", place, installation),
    ):
        with pytest.raises(GateError, match="these are the user's own settings here: use --scope user"):
            change(Place(environ, environ["HOME"], environ["SESSION_GATE_STATE_DIR"], 0.0))


def installation() -> Installation:
    return Installation("/python", "/hook.py", "/session-gate")


def test_a_home_that_is_the_project_is_one_file(environ: dict[str, str]) -> None:
    home = Path(environ["HOME"])
    put(home / ".claude" / "settings.json", OURS)
    assert [one.scope for one in find_installed(claude, environ, str(home))] == ["user"]


@pytest.mark.parametrize(
    ("user", "project", "local", "by"),
    [
        (None, None, None, ""),
        (True, None, None, "user"),
        (True, False, None, ""),
        (False, True, None, "project"),
        (None, True, False, ""),
        (None, False, True, "local"),
        (False, None, None, ""),
        ("yes", None, None, ""),
    ],
)
def test_the_last_file_that_switches_hooks_counts(
    environ: dict[str, str], tmp_path: Path, user: object, project: object, local: object, by: str
) -> None:
    work = tmp_path / "work"
    paths = {scope: Path(settings_path(claude, scope, environ, str(work))) for scope in ("user", "project", "local")}
    for path, value in zip(paths.values(), (user, project, local), strict=True):
        put(path, {} if value is None else {"disableAllHooks": value})
    found = look_at(claude, environ, str(work), managed=str(tmp_path / "managed.json"))
    assert found.disabled_by == (str(paths[by]) if by else "")


@pytest.mark.parametrize("key", ["disableAllHooks", "allowManagedHooksOnly"])
def test_an_administrator_comes_first(environ: dict[str, str], tmp_path: Path, key: str) -> None:
    managed = tmp_path / "managed.json"
    put(Path(settings_path(claude, "user", environ, "")), {"disableAllHooks": False, "allowManagedHooksOnly": True})
    assert look_at(claude, environ, str(tmp_path), managed=str(managed)).disabled_by == ""
    put(managed, {key: True})
    assert look_at(claude, environ, str(tmp_path), managed=str(managed)).disabled_by == str(managed)
    managed.write_text("{")
    assert look_at(claude, environ, str(tmp_path), managed=str(managed)).disabled_by == ""


def test_whatever_is_wrong_somewhere_the_rest_is_found(environ: dict[str, str], tmp_path: Path) -> None:
    user = Path(settings_path(claude, "user", environ, ""))
    put(user, OURS)
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").mkdir()
    (tmp_path / ".claude" / "settings.local.json").write_text('{"hooks": 1}')
    found = look_at(claude, environ, str(tmp_path))
    assert [one.file for one in found.installed] == [str(user)]
    assert [Path(path).name for path in found.unreadable] == ["settings.json", "settings.local.json"]
    assert find_installed(claude, {}, str(tmp_path)) == []


@pytest.mark.parametrize(("matcher", "shown"), [("", None), ("*", None), ("startup|resume", "startup|resume")])
def test_a_matcher_that_restricts_nothing_is_none(
    environ: dict[str, str], tmp_path: Path, matcher: str, shown: str | None
) -> None:
    group = OURS["hooks"]["SessionStart"][0] | {"matcher": matcher}
    put(Path(settings_path(claude, "user", environ, "")), {"hooks": {"SessionStart": [group]}})
    (one,) = find_installed(claude, environ, str(tmp_path))
    assert one.matcher == shown
    assert one.effective
    assert one.seconds is None
