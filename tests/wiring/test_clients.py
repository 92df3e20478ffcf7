"""The table of clients: complete, one description each, and true to what the clients were seen to take."""

from __future__ import annotations

import os

import pytest

from gate.clients import AGENTS, FLAT, GROUPED, MILLISECONDS, NAMES, OWN_FILE, SECONDS
from gate.wiring import own_file
from gate.wiring.client_settings import PROJECT, SCOPES, USER, settings_path
from gate.wiring.clients import CLIENTS, Client
from gate.wiring.hooks_install import lines
from gate.wiring.installed_line import Installation
from gate.wiring.own_commands import boundary_of
from gate.wiring.shell_block import SHELLS

EACH = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)


def installation() -> Installation:
    return Installation("/opt/gate/bin/python", "/opt/gate/hook.py", "/opt/gate/bin/session-gate")


def test_the_table_has_every_agent_once() -> None:
    assert tuple(CLIENTS) == AGENTS
    assert (*AGENTS, "shell") == NAMES
    assert len({client.TITLE for client in CLIENTS.values()}) == len(AGENTS)
    assert not set(CLIENTS) & set(SHELLS)


@EACH
def test_each_has_a_start_and_an_end_in_time(client: Client) -> None:
    assert {boundary for _, boundary, _ in client.HOOKS} == {"start", "end"}
    assert len({event for event, _, _ in client.HOOKS}) == len(client.HOOKS)
    assert client.UNIT in (SECONDS, MILLISECONDS)
    assert client.FORM in (GROUPED, FLAT, OWN_FILE)
    assert client.SCOPES in (SCOPES, SCOPES[:2])
    assert hasattr(client, "own_file") is (client.FORM == OWN_FILE)
    assert all(seconds >= 3 for _, _, seconds in client.HOOKS)


def test_codex_gives_an_end_three_seconds_at_most() -> None:
    assert [seconds for _, boundary, seconds in CLIENTS["codex"].HOOKS if boundary == "end"] == [3]


@EACH
def test_its_settings_lie_in_its_own_directory_or_in_the_worktree(client: Client) -> None:
    home = {"HOME": "/home/you"}
    directory = client.config_directory(home)
    assert directory.startswith("/home/you/.")
    assert settings_path(client, USER, home, "").startswith(directory + "/")
    below = settings_path(client, PROJECT, {}, "")
    assert below.startswith(".")
    assert settings_path(client, PROJECT, home, "/a/tree") == os.path.join("/a/tree", below)
    if client.DIRECTORY_VARIABLE:
        elsewhere = home | {client.DIRECTORY_VARIABLE: "/srv/there"}
        assert settings_path(client, USER, elsewhere, "").startswith("/srv/there/")
        assert settings_path(client, USER, home | {client.DIRECTORY_VARIABLE: ""}, "").startswith(directory + "/")


@EACH
@pytest.mark.parametrize("scope", [USER, PROJECT])
def test_its_lines_are_known_as_its_own_and_as_nobody_elses(client: Client, scope: str) -> None:
    path = settings_path(client, scope, {"HOME": "/home/you"}, "/a/tree")
    written = lines(client, scope, path, installation)
    for event, boundary, _ in client.HOOKS:
        for name in AGENTS:
            assert boundary_of(written[event], name) == (boundary if name == client.NAME else "")
    if client.FORM == OWN_FILE:
        text = own_file.text_of(client, written)
        assert [name for name, other in CLIENTS.items() if own_file.calls_gate(other, text)] == [client.NAME]
