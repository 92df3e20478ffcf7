"""Which commands are ours: every form that was ever taught, and nobody else's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.clients import claude
from gate.wiring.installed_line import Installation, absolute_line, shared_line
from gate.wiring.own_commands import boundary_of, mentions_gate

OURS = [
    "gate hook start --client claude",
    "/home/you/.local/bin/gate hook start --client claude",
    "session-gate hook start --client claude",
    "gate hook --client=claude start",
    "gate hook start --client claude || true",
    "gate hook start --client claude; exit 0",
    "gate hook start --client claude 2>/dev/null",
    "gate hook start --client claude >> /tmp/log 2>&1 || true",
    "'/home/my you/bin/gate' hook start --client claude",
    '"$HOME/.local/bin/gate" hook start --client claude',
    "~/.local/bin/session-gate hook start --client claude",
    "exec gate hook start --client claude",
    "SESSION_GATE_STATE_DIR=/srv/state gate hook start --client claude",
    "env SESSION_GATE_DISABLE=1 gate hook start --client claude",
    "/v/bin/python -I -S /v/lib/python3.11/site-packages/gate/hook.py start --client claude",
    "/v/bin/python3.11 -I -S /v/gate/hook.py start --client claude || /v/bin/session-gate hook start --client claude",
    "/v/bin/python -IS /v/gate/hook.py start --client claude || printf '%s' '{\"systemMessage\":\"SESSION-GATE\"}'",
    "/v/gate/hook.py start --client claude",
    "python3 -m gate hook start --client claude",
    "sh -c 'gate hook start --client claude'",
    'bash -lc "gate hook start --client claude || true"',
    "uvx session-gate hook start --client claude",
    "uv tool run session-gate hook start --client claude",
    "pipx run session-gate hook start --client claude",
]

OTHERS = [
    "",
    "echo gate hook start --client claude",
    "my-gate hook start --client claude",
    "navigate hook start --client claude",
    "gate hook start --client codex",
    "gate hook start",
    "gate hook stop --client claude",
    "gate hook start end --client claude",
    "gate hook start --client claude --verbose",
    "gate status",
    "notify && gate hook start --client claude",
    "gate hook start --client claude && notify",
    "gate hook start --client claude; notify",
    "gate hook start --client claude || notify",
    "gate hook start --client claude | tee log",
    "gate hook start --client claude\nnotify",
    "cd /srv; gate hook start --client claude",
    "timeout 5 gate hook start --client claude",
    "sh -c 'gate hook start --client claude' other",
    "python3 /x/my_gate/hook.py start --client claude",
    "python3 /x/gate/hook.py.bak start --client claude",
    "python3 /x/agate/hook.py start --client claude",
    "python3 -m gate.silent start --client claude",
    "gate hook start --client 'claude",
    "true",
    ": # session-gate hook start --client claude;",
]


@pytest.mark.parametrize("command", OURS)
def test_a_command_that_runs_the_hook_and_nothing_else_is_ours(command: str) -> None:
    assert boundary_of(command, "claude") == "start"
    assert boundary_of(command.replace("start", "end"), "claude") == "end"
    assert boundary_of(command, "codex") == ""


@pytest.mark.parametrize("command", OTHERS)
def test_everything_else_is_somebodys_own(command: str) -> None:
    assert boundary_of(command, "claude") == ""


def test_a_hook_without_a_shell_is_judged_by_its_words() -> None:
    words = ["hook", "start", "--client", "claude"]
    assert boundary_of("/home/my you/bin/gate", "claude", words) == "start"
    assert boundary_of("/home/you/bin/gates", "claude", words) == ""
    assert boundary_of("gate hook start --client claude", "claude", ["more"]) == ""


@given(st.text(max_size=60))
def test_no_command_makes_it_fail_and_none_by_chance_is_ours(command: str) -> None:
    assert boundary_of(command, "claude") == ""
    mentions_gate(command)


PATHS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).map(
    "/".__add__
)


@given(PATHS, PATHS, PATHS | st.just(""), st.sampled_from(["start", "end"]))
def test_what_is_installed_is_recognised(python: str, silent: str, script: str, boundary: str) -> None:
    line = absolute_line(Installation(python, silent, script), boundary, "claude", "/s.json", claude.render_start)
    assert boundary_of(line, "claude") == boundary
    assert boundary_of(line, "codex") == ""
    assert boundary_of(shared_line(boundary, "claude", "s.json", claude.render_start), "claude") == boundary


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("notify && gate hook start --client claude", True),
        ('cd /x; "$HOME/bin/gate" hook end --client claude', True),
        ("time python -S /v/gate/hook.py start --client claude", True),
        ("navigate hook start", False),
        ("gate status", False),
    ],
)
def test_a_call_among_other_things_is_noticed(command: str, expected: bool) -> None:
    assert mentions_gate(command) is expected
