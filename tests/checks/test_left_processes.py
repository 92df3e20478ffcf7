"""What sessions left running, retold: every incident and every trap, in a made-up world."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from gate_checks import left_processes

from gate.finding import DEBT, DEFERRED, NOTE, UNKNOWN, Finding
from gate.testing import World, run_check, said
from gate.world import orphans
from gate.world.processes import Process

CHECK = left_processes.gate_check()
HOUR, DAY = 3600.0, 86400.0
SNAPSHOT = "source /home/a/.claude/shell-snapshots/snapshot-zsh-1-a.sh && eval 'while :; do :; done'"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "SECOND_LOOK", 0.0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, now=1_790_000_000.0)


def findings(world: World, **options: object) -> dict[str, str]:
    return {said(finding): finding.kind for finding in run_check(CHECK, world, **options)}


def only(world: World, **options: object) -> Finding:
    (finding,) = run_check(CHECK, world, **options)
    return finding


def of(world: World, client: str = "claude", **more: str) -> Mapping[str, str]:
    return {**world.client(client), **more}


def test_many_small_ones_are_told_together(world: World) -> None:
    """110 processes at 15 % of a core each (anthropics/claude-code#81108)."""
    for _ in range(110):
        world.processes.add("zsh", "-c", SNAPSHOT, age=HOUR, environ=of(world), seconds=0.1285 * HOUR, memory=1 << 20)
    finding = only(world)
    began = said(finding).partition("started ")[2][:8]
    load = "60 min old, 1414 % CPU, 110 MiB"
    assert said(finding) == f"110 × zsh outlived their claude session: started {began}, {load}"
    assert finding.kind == DEBT
    assert len({subject.key for subject in finding.subjects}) == 110


def test_a_waiting_loop_counts_by_its_age(world: World) -> None:
    """An `until grep` loop that used nothing, a day later in another session (anthropics/claude-code#55893)."""
    world.processes.add("bash", "-c", "until grep done log; do sleep 9; done", age=25 * HOUR, environ=of(world))
    assert " 25 h old, 0 % CPU" in said(only(world))


def test_the_tree_is_judged_and_not_its_root(world: World) -> None:
    """An idle wrapper whose child is hot (openai/codex-plugin-cc#193)."""
    root = world.processes.add("node", "wrapper.js", age=6 * HOUR, environ=of(world))
    world.processes.add("codex", ppid=root.pid, age=6 * HOUR, seconds=0.988 * 6 * HOUR, memory=1 << 30)
    text = said(only(world))
    assert text.startswith("node (2 processes) outlived its claude session")
    assert text.endswith("6 h old, 99 % CPU, 1.0 GiB")


@pytest.mark.parametrize(
    ("name", "arguments", "shown"),
    [
        ("workerd", (), "workerd"),  # littlebearapps/untether#275
        ("jdtls", (), "jdtls"),  # Yeachan-Heo/oh-my-claudecode#768
        ("git", ("fetch",), "git"),
        ("claude", ("-p", "--resume", "secret"), "claude"),  # anthropics/claude-code#20369
        ("node", ("server.js", "--token", "secret"), "node server.js"),  # anthropics/claude-code#27959
        ("node", ("not-there-secret.js",), "node"),
        ("python3", ("-m", "http.server", "secret"), "python3 -m http.server"),
        ("bash", ("-c", "curl -H secret"), "bash"),
        ("chrome", ("--user-data-dir=/home/a/.cache/ms-playwright/mcp-chrome-1", "secret"), "chrome"),
        ("chromium", ("--headless=new", "secret"), "chromium"),
    ],
)
def test_whatever_the_program_and_without_its_arguments(
    world: World, name: str, arguments: tuple[str, ...], shown: str
) -> None:
    world.file("server.js")
    world.processes.add(name, *arguments, environ=of(world), directory=str(world.root))
    finding = only(world)
    assert said(finding).startswith(f"{shown} outlived its claude session: started ")
    assert finding.kind == DEBT
    told = [said(finding), str(finding.remedy), *map(str, finding.details), *(str(s.detail) for s in finding.subjects)]
    assert not any("secret" in text for text in told)


def test_ports_are_told(world: World) -> None:
    """The next session failed on a port that an orphan held (anthropics/claude-plugins-official#1734)."""
    root = world.processes.add("wrangler", environ=of(world))
    world.processes.add("workerd", ppid=root.pid, ports=[8787, 9229])
    assert said(only(world)).endswith("ports 8787, 9229")


@pytest.mark.parametrize("reaper", ["systemd", "launchd", "tini", "Relay(12)", "containerd-shim-runc-v2"])
def test_an_orphan_need_not_have_pid_1_for_a_parent(world: World, reaper: str) -> None:
    """346 workers under a user's service manager (thedotmack/claude-mem#3301)."""
    manager = world.processes.add(reaper, age=DAY)
    world.processes.add("worker", ppid=manager.pid, environ=of(world))
    assert said(only(world)).startswith("worker outlived")


@pytest.mark.parametrize("client", ["claude", "codex", "copilot", "gemini", "qwen", "opencode"])
def test_every_client_leaves_its_mark(world: World, client: str) -> None:
    world.processes.add("sleep", environ=of(world, client))
    finding = only(world)
    assert said(finding).startswith(f"sleep outlived its {client} session")
    assert [subject.at_work for subject in finding.subjects] == [False]


@pytest.mark.parametrize(("client", "program"), [("claude", "claude"), ("codex", "codex"), ("gemini", "node")])
def test_where_an_older_client_lives_the_session_may_go_on(world: World, client: str, program: str) -> None:
    arguments = ("/usr/lib/gemini.js",) if program == "node" else ()
    world.processes.add(program, *arguments, age=HOUR, terminal=True)
    world.processes.add("sleep", environ=of(world, client))
    assert [subject.at_work for subject in only(world).subjects] == [True]


def test_a_client_that_came_later_proves_nothing(world: World) -> None:
    world.processes.add("claude", age=1.0, terminal=True)
    world.processes.add("sleep", age=HOUR, environ=of(world))
    assert [subject.at_work for subject in only(world).subjects] == [False]


def test_the_named_client_is_asked_before_all_others(world: World) -> None:
    other = world.processes.add("claude", age=2 * HOUR, terminal=True)
    world.processes.add("sleep", age=HOUR, environ=of(world, CLAUDE_PID="999"))
    world.processes.add("true", age=HOUR, environ=of(world, CLAUDE_PID=str(other.pid)))
    finding = only(world)  # and not what the living one has put in the background
    assert said(finding).startswith("sleep outlived")
    assert [subject.at_work for subject in finding.subjects] == [False]


def test_a_recycled_pid_is_no_owner(world: World) -> None:
    other = world.processes.add("claude", age=60.0)
    world.processes.add("sleep", age=HOUR, environ=of(world, CLAUDE_PID=str(other.pid)))
    assert said(only(world)).startswith("sleep outlived")


@pytest.mark.parametrize("words", [("-c", SNAPSHOT), ("-c", "pwd -P >| /tmp/claude-12ab-cwd")])
def test_a_tool_shell_is_known_by_its_arguments_where_nothing_else_tells(world: World, words: tuple[str, ...]) -> None:
    """macOS shows no environments of its own programs; the signature is what is left (Sterll/claude-terminal#202)."""
    world.processes.add("zsh", *words, directory=str(world.root), environ={})
    finding = only(world)
    assert said(finding).startswith("zsh outlived its claude session, by its shell's arguments: started ")
    (subject,) = finding.subjects
    assert (subject.tag, subject.worktree) == (None, None)
    world.repository()
    (subject,) = only(world).subjects
    assert subject.worktree == str(world.root)  # where a living session is at work, it is that one's


def test_a_deleted_directory_of_the_project_tells(world: World) -> None:
    """Busy loops in a removed worktree, which sweeps for node and turbo passed by (coalesce-labs/catalyst#2749)."""
    gone = f"{world.root}/.claude/worktrees/one"
    world.processes.add("sh", "-c", "loop", directory=gone, environ={}, lost=["directory"])
    world.processes.add("sh", "-c", "loop", directory="/elsewhere", environ={}, lost=["directory"])
    world.processes.add("sh", "-c", "loop", directory=f"{world.root}/work (deleted)", environ={})
    finding = only(world)
    assert said(finding).startswith("sh still runs in a deleted directory here: started ")
    assert finding.subjects[0].directory == f"{world.root}/.claude/worktrees/one"


def test_a_client_that_outlived_its_terminal(world: World) -> None:
    """47 days after its terminal was closed (google-gemini/gemini-cli#15873)."""
    world.processes.add("node", "/opt/gemini", age=47 * DAY, environ={}, seconds=9.4 * DAY, lost=["terminal"])
    world.processes.add("node", "/opt/other", age=DAY, environ={}, lost=["terminal"])
    assert said(only(world)).startswith("node lost its terminal: started ")


def test_what_has_no_environment_is_known_by_what_was_seen_at_the_end(world: World) -> None:
    process = world.processes.add("server", environ={})
    world.processes.add("other", environ={})
    world.processes.kin = {process.key: "session-1"}
    finding = only(world)
    assert said(finding).startswith("server outlived its session")
    assert [subject.tag for subject in finding.subjects] == ["session-1"]


def healthy(world: World) -> list[Process]:
    """A busy machine on which all is well."""
    add = world.processes.add
    terminal = add("gnome-terminal-", age=DAY)
    shell = add("zsh", ppid=terminal.pid, age=DAY, terminal=True)
    claude = add("claude", ppid=shell.pid, age=HOUR, terminal=True)
    alive = {**world.client(), "CLAUDE_PID": str(claude.pid)}
    tool = add("bash", "-c", SNAPSHOT, ppid=claude.pid, environ=alive)
    codex = add("codex", ppid=shell.pid, age=HOUR, terminal=True)
    daemon = add("codex", "app-server", "--listen", "unix:///x", "--managed-daemon", environ={}, lost=["terminal"])
    manager = add("systemd", "--user", age=DAY)
    docker = add("dockerd", age=DAY)
    return [
        add("pytest", ppid=tool.pid, environ=alive),
        add("node", "dev-server.js", ppid=claude.pid, environ=alive),
        add("sleep", "1000", environ=alive),  # in the background by `nohup`: the living client's own matter
        add("caffeinate", "-i", "-t", "300", ppid=claude.pid, environ=alive),
        add("node", "mcp", ppid=codex.pid, environ=of(world, "codex")),
        add("cargo", ppid=daemon.pid, environ=of(world, "codex")),
        add("node", "vite", ppid=shell.pid, terminal=True, ports=[5173]),  # a person's dev server
        add("node", "vite", environ={}),  # the same by `nohup`, of a terminal that was closed
        add("tmux: server", environ={}),
        add("chrome", "--user-data-dir=/home/a/.config/chrome", environ={}),
        add("code", environ={}),
        add("java", "-jar", "jdtls", ppid=manager.pid, environ={}),
        add("postgres", ppid=docker.pid, environ={}),
        add("gpg-agent", ppid=manager.pid, environ={}),
        add("defunct", state="Z", environ=of(world)),
        add("kworker", ppid=2, environ={}),
        add("bash", terminal=True, environ=of(world)),  # somebody's, at a terminal that a session opened
        add("hidden", hidden=True),
    ]


def test_a_busy_healthy_machine_is_silent(world: World) -> None:
    assert len(healthy(world)) == 18
    assert findings(world) == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tmux: server", ()),
        ("SCREEN", ()),
        ("code", ()),
        ("emacs", ("--daemon",)),
        ("ssh-agent", ()),
        ("java", ("-cp", "x", "org.gradle.launcher.daemon.bootstrap.GradleDaemon", "8.5")),
        ("git", ("fsmonitor--daemon", "run", "--detach")),
        ("git", ("gc", "--auto")),
        ("firefox", ("https://example.org",)),
        ("chrome", ("--user-data-dir=/home/a/.config/chrome",)),
    ],
)
def test_what_stays_by_design_is_a_note(world: World, name: str, words: tuple[str, ...]) -> None:
    world.processes.add(name, *words, environ=of(world))
    ((text, kind),) = findings(world).items()
    assert kind == NOTE
    assert text.endswith("; it stays by design")


def test_a_service_for_a_worktree_that_is_gone_serves_nobody(world: World) -> None:
    """About 80 of git's monitors, one of which hung `git status` (max-sixty/worktrunk PR 2813)."""
    gone = f"{world.root}/one"
    world.processes.add("git", "fsmonitor--daemon", "run", environ=of(world), directory=gone, lost=["directory"])
    assert set(findings(world).values()) == {DEBT}


def test_what_stays_by_design_can_be_said(world: World) -> None:
    world.processes.add("my-daemon", environ=of(world))
    assert set(findings(world).values()) == {DEBT}
    assert set(findings(world, kept=("my-*",)).values()) == {NOTE}
    assert findings(world, ignore=("my-daemon",)) == {}


def test_what_cannot_be_inspected_and_belongs_to_it_is_said(world: World) -> None:
    """`sudo fs_usage` at 82 to 113 % for 34 h: another user's, and no clean machine (anthropics/claude-code#76814)."""
    world.processes.add("sleep", environ=of(world), group=4242)
    world.processes.add("fs_usage", hidden=True, group=4242)
    world.processes.add("cron", hidden=True)
    hidden = [finding for finding in run_check(CHECK, world) if finding.kind == UNKNOWN]
    assert [said(finding) for finding in hidden] == ["1 of what a session left cannot be inspected: fs_usage"]


def test_what_ends_while_one_looks_is_not_named(world: World) -> None:
    process = world.processes.add("mcp", environ=of(world))
    world.processes.vanish(process)
    assert findings(world) == {}


def test_sessions_and_programs_are_told_apart(world: World) -> None:
    for session in ("one", "two"):
        for name in ("sleep", "node"):
            world.processes.add(name, environ=world.client("claude", session))
    found = run_check(CHECK, world)
    assert len({finding.key for finding in found}) == 4
    assert sorted(subject.tag or "" for finding in found for subject in finding.subjects) == [
        "one",
        "one",
        "two",
        "two",
    ]


def test_what_shares_its_clients_terminal_is_left_all_the_same(world: World) -> None:
    """A stdio MCP server has the client's controlling terminal, in the client's group, when the client is killed."""
    world.processes.add("node", "server.js", environ=of(world), terminal=True, group=77)
    assert said(only(world)).startswith("node outlived")


def test_a_clients_own_service_is_nobodys_leftover(world: World) -> None:
    """`/background` goes on with the work in `claude daemon run`, below which living sessions run."""
    process = world.processes.add("claude", "daemon", "run", environ=of(world))
    world.processes.kin = {process.key: "session-1"}
    assert findings(world) == {}


def test_a_tree_with_a_living_sessions_client_in_it_is_at_work(world: World) -> None:
    root = world.processes.add("sh", "loop.sh", environ=of(world))
    client = world.processes.add("claude", "-p", ppid=root.pid)
    assert set(findings(world).values()) == {DEBT}
    world.processes.owners = {client.pid}
    assert findings(world) == {}


def test_a_client_that_lingers_after_its_end_is_waited_for(world: World) -> None:
    client = world.processes.add("claude", age=HOUR)
    world.processes.add("sleep", environ=of(world, CLAUDE_PID=str(client.pid)))
    assert findings(world) == {}
    world.processes.is_over = "session-1".__eq__
    assert set(findings(world).values()) == {DEFERRED}


def test_the_clients_own_word_counts_without_its_mark(world: World) -> None:
    """People empty CLAUDECODE to nest clients."""
    client = world.processes.add("claude", age=HOUR)
    world.processes.add("sleep", environ={"CLAUDE_CODE_SESSION_ID": "x", "CLAUDE_PID": str(client.pid)})
    assert findings(world) == {}


def test_a_tree_whose_wrapper_has_just_ended_is_still_there(world: World) -> None:
    root = world.processes.add("npm", environ=of(world))
    world.processes.add("node", ppid=root.pid, environ=of(world))
    world.processes.vanish(root)
    assert findings(world) == {}  # nothing could be read of it
    world.processes.add("npm", pid=root.pid, environ=of(world))
    assert len(findings(world)) == 1


def test_what_is_known_to_be_a_sessions_and_may_not_be_read_is_said(world: World) -> None:
    process = world.processes.add("fs_usage", hidden=True)
    world.processes.kin = {process.key: "session-1"}
    assert said(only(world)) == "1 of what a session left cannot be inspected: fs_usage"
