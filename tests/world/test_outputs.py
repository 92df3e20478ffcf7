"""The table of places: which are looked at in an environment, and what never is."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.config.configuration import expand
from gate.world.outputs import OUTLETS, Outlet, find_outputs, place_pattern, usable_places

UID = str(os.getuid())
HOME = {"HOME": "/home/you"}


def outlet(name: str) -> Outlet:
    (found,) = [each for each in OUTLETS if name in each.name]
    return found


def places(name: str, **environ: str) -> list[str]:
    return [expand(place, HOME | environ) for place in usable_places(outlet(name), HOME | environ)]


def test_each_has_a_name_of_its_own_a_source_and_a_cure() -> None:
    assert len({each.name for each in OUTLETS}) == len(OUTLETS)
    for each in OUTLETS:
        assert each.source
        assert each.cure
        for text in (each.name, each.cure):
            assert "{" not in text
            assert "rm " not in text
        for place in each.places:
            assert place.startswith(("$", "~/", "/tmp/"))
            assert not place.endswith("/")


def test_the_task_output_is_looked_for_where_the_client_may_put_it() -> None:
    name = f"claude-{UID}"
    assert places("task output") == [f"/tmp/{name}", f"/{name}", f"/tmp/{name}"]
    assert places("task output", TMPDIR="/var/t") == [f"/var/t/{name}", f"/var/{name}", f"/tmp/{name}"]
    inside = places("task output", TMPDIR=f"/tmp/{name}")
    assert f"/tmp/{name}" in inside[1:2], "in a shell of the client's own"
    assert places("task output", CLAUDE_CODE_TMPDIR="/big", TMPDIR="/var/t") == [f"/big/{name}"]


@pytest.mark.parametrize(
    ("name", "variable", "expected"),
    [
        ("debug logs", "CLAUDE_CONFIG_DIR", "/x/debug"),
        ("debug logs", "CLAUDE_CODE_DEBUG_LOGS_DIR", "/x"),
        ("MCP logs", "XDG_CACHE_HOME", "/x/claude-cli-nodejs"),
        ("Codex's logs", "CODEX_HOME", "/x/log"),
        ("Codex's log databases", "CODEX_SQLITE_HOME", "/x/logs_*.sqlite*"),
        ("Gemini CLI's output", "GEMINI_CLI_HOME", "/x/.gemini/tmp"),
        ("Copilot", "COPILOT_HOME", "/x/logs"),
        ("OpenCode's snapshots", "XDG_DATA_HOME", "/x/opencode/snapshot"),
    ],
)
def test_variables_add_a_place_and_the_usual_one_stays(name: str, variable: str, expected: str) -> None:
    usual = places(name)
    assert usual
    assert all(place.startswith("/home/you/") for place in usual)
    found = places(name, **{variable: "/x"})
    assert expected in found
    assert set(usual) < set(found)
    assert places(name, **{variable: "relative"}) == usual
    assert places(name, **{variable: ""}) == usual


KEPT = [
    "~/.claude/projects/-home-you-app/a.jsonl", "~/.claude/file-history/a", "~/.claude/history.jsonl", "~/.claude.json",
    "~/.codex/sessions/2026/11/01/rollout-a.jsonl", "~/.codex/archived_sessions/a.jsonl", "~/.codex/state_5.sqlite",
    "~/.codex/packages/app-server-daemon/codex", "~/.codex/auth.json", "~/.copilot/session-state/a/events.jsonl",
    "~/.local/share/opencode/opencode.db", "~/.local/share/opencode/auth.json", "~/.gemini/history/a/HEAD",
    "/tmp/opencode.txt", "/tmp/notes/a", "/tmp/my-profile-1/a", "/tmp/claude-x/a", "~/log/codex-tui.log",
]  # fmt: skip
OUTPUT = [
    f"/tmp/claude-{UID}/-home-you/a/tasks/b.output", f"/tmp/claude-{UID}", "~/.claude/debug/a.txt",
    "~/.claude-work/debug/a.txt", "~/.cache/claude-cli-nodejs/-a/mcp-logs-x/a.jsonl", "~/.codex/log/codex-tui.log",
    "~/.codex/logs_2.sqlite", "~/.codex/logs_2.sqlite-wal", "~/.codex/state_5.sqlite-wal", "/tmp/hook_outputs/a/b.txt",
    "~/.gemini/tmp/a/tool-outputs/b", "/tmp/gemini-shell-Ab3/bgpids.tmp", "~/.copilot/logs/a.log",
    "~/.local/share/opencode/log/opencode.log", "~/.local/share/opencode/snapshot/a/objects/pack/tmp_pack_x",
    "~/.local/share/opencode/opencode-next.db-wal", "/tmp/opencode-wal-1.db", "/tmp/opencode-wal-1.db-wal",
    "/tmp/.5fff17bd-00000000.so", "/tmp/puppeteer_dev_chrome_profile-x/a", "/tmp/playwright_firefoxdev_profile-x/a",
    "/tmp/pai-parallel-1/git.sh",
]  # fmt: skip


def test_what_people_keep_is_in_no_place_and_output_is() -> None:
    pattern = place_pattern(OUTLETS, HOME, lambda place: expand(place, HOME), "/")
    assert [path for path in KEPT if pattern.fullmatch(expand(path, HOME))] == []
    assert [path for path in OUTPUT if not pattern.fullmatch(expand(path, HOME))] == []


def test_a_pattern_stays_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "r+al").mkdir()
    (tmp_path / "link").symlink_to("r+al")
    odd = Outlet("odd", (str(tmp_path / "link" / "a.b-*" / "log"),), "a test")
    pattern = place_pattern([odd], {}, str, "/")
    assert pattern.fullmatch(str(tmp_path / "r+al" / "a.b-1" / "log" / "x\ny"))
    for other in ("link/a.b-1/log", "r+al/a_b-1/log", "r+al/a.b-1/x/log", "r+al/a.b-1/logs", "rrral/a.b-1/log"):
        assert not pattern.fullmatch(str(tmp_path / other))


def test_all_that_matches_at_the_end_is_one_pile_and_other_places_are_one_each(tmp_path: Path) -> None:
    for name in ("run-1", "run-2", "a/log", "b/log", "c"):
        (tmp_path / name).mkdir(parents=True)
    outlets = [Outlet("runs", (f"{tmp_path}/run-*",), ""), Outlet("logs", (f"{tmp_path}/*/log", f"{tmp_path}/x"), "")]
    found, failed = find_outputs(outlets, {}, str, "/")
    assert failed == []
    assert [(each.outlet.name, each.place.removeprefix(f"{tmp_path}/"), sorted(map(os.path.basename, each.roots)))
            for each in found] == [
        ("runs", "run-*", ["run-1", "run-2"]), ("logs", "a/log", ["log"]), ("logs", "b/log", ["log"])]  # fmt: skip
    assert [str(each.name) for each in found[:1]] == ["runs"]


def test_the_same_place_by_two_names_is_found_once(tmp_path: Path) -> None:
    (tmp_path / "home/.codex/log").mkdir(parents=True)
    (tmp_path / "home/.codex/logs_2.sqlite").touch()
    (tmp_path / "alias").symlink_to("home")
    environ = {"HOME": str(tmp_path / "home"), "CODEX_HOME": str(tmp_path / "alias/.codex"), "TMPDIR": str(tmp_path)}
    codex = [each for each in OUTLETS if each.name.startswith("Codex")]
    found, _ = find_outputs(codex, environ, lambda place: expand(place, environ), "/")
    assert [each.place.removeprefix(str(tmp_path)) for each in found] == [
        "/home/.codex/log",
        "/home/.codex/logs_*.sqlite*",
    ]


PATTERNS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(PATTERNS | st.text("[]!*?.a\\^-", min_size=1, max_size=6), max_size=4))
def test_any_place_can_be_looked_for(places: list[str]) -> None:
    """They come from a configuration, and a project's too."""
    outlets = [Outlet("", (place,), "", "") for place in places]
    find_outputs(outlets, HOME, lambda part: expand(part, HOME), "/nonexistent")
    pattern = place_pattern(outlets, HOME, lambda part: expand(part, HOME), "/nonexistent")
    for place in places:
        if not glob.has_magic(place) and not place.startswith("$"):
            real = os.path.realpath(os.path.join("/nonexistent", expand(place, HOME)))
            assert pattern.fullmatch(real)
            assert pattern.fullmatch(f"{real}/a\nb")


@pytest.mark.parametrize(
    ("place", "inside", "outside"),
    [
        ("a*", "/base/ab", "/base/b"),
        ("[.*]x", "/base/.x", "/base/ax"),
        ("[!a]/*.log", "/base/b/x.log", "/base/a/x.log"),
        ("?", "/base/a/deep/er", "/base/ab"),
        ("**", "/base/x", "/other"),
        ("[", "/base/[/x", "/base/x"),
        ("a[*]", "/base/a*", "/base/ab"),
        ("a?b", "/base/axb/c", "/base/a/b"),
        ("a*b", "/base/axxb", "/base/a/b"),
        ("a[!x]b", "/base/ayb", "/base/a/b"),
        ("[!]]", "/base/a", "/base/]"),
    ],
)
def test_a_place_matches_what_lies_in_it(place: str, inside: str, outside: str) -> None:
    pattern = place_pattern([Outlet("", (place,), "", "")], HOME, lambda part: expand(part, HOME), "/base")
    assert pattern.fullmatch(inside)
    assert not pattern.fullmatch(outside)
