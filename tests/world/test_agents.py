"""The clients as processes."""

from __future__ import annotations

import pytest

from gate.tags import MARKS, TAG_VARIABLES, without_tags
from gate.testing import CLIENTS
from gate.world.agents import AGENTS, agent_of, agent_program, is_daemon, is_reaper, owner_in


def test_a_process_of_ours_carries_no_clients_mark() -> None:
    """The finisher is detached by an end hook, and was once called left behind."""
    names = {name for agent in AGENTS for name in (agent.mark, agent.owner) if name}
    assert names <= {*MARKS, *TAG_VARIABLES}
    assert without_tags(dict.fromkeys([*names, *TAG_VARIABLES, "PATH"], "1")) == {"PATH": "1"}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_known_by_what_it_leaves(client: str) -> None:
    variable, others = CLIENTS[client]
    found = agent_of({**others, **({variable: "x"} if variable else {})})
    assert found is not None
    assert found.name == client


@pytest.mark.parametrize(
    ("name", "words", "client"),
    [
        ("claude", ["claude"], "claude"),
        ("node", ["node", "/usr/lib/node_modules/.bin/gemini", "-p"], "gemini"),
        ("node", ["node", "/x/qwen.js"], "qwen"),
        ("node", ["node", "server.js", "claude"], ""),
        ("vim", ["vim", "claude.md"], ""),
        ("code", ["code", "/home/a/claude"], ""),
    ],
)
def test_a_clients_program_is_told_by_its_name_or_its_script(name: str, words: list[str], client: str) -> None:
    found = agent_program(name, words)
    assert (found.name if found is not None else "") == client


def test_a_service_is_told_by_its_arguments() -> None:
    assert is_daemon(["codex", "app-server", "--listen", "unix:///x"])
    assert is_daemon(["claude", "daemon", "run"])
    assert not is_daemon(["claude", "-p", "start the daemon"])


@pytest.mark.parametrize("text", ["", "x", "-1", "1" * 10, "４２", "12 "])
def test_an_odd_owner_is_none(text: str) -> None:
    claude = AGENTS[0]
    assert owner_in({"CLAUDE_PID": text}, claude) is None
    assert owner_in({"CLAUDE_PID": "42"}, claude) == 42
    assert owner_in({"CODEX_PID": "42"}, AGENTS[1]) is None


@pytest.mark.parametrize(("pid", "name", "reaper"), [(1, "x", True), (9, "systemd", True), (9, "node", False)])
def test_who_adopts(pid: int, name: str, reaper: bool) -> None:
    assert is_reaper(pid, name) is reaper
