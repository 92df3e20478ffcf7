"""OUTPUT: trees as clients leave them, real files of real sizes, real writers; everything at 1 : 2048."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from output_home import CHECK, GIB, ONE, OPTIONS, OTHER, UID, Home, texts

from gate.api import DEBT, MACHINE, NOTE, Finding
from gate.attribution import Baseline, Evidence, Living, attribute, key_of
from gate.testing import said
from gate.world.tree import memory_file_system


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    # whatever file system the tests lie on
    monkeypatch.setattr("gate.world.excess.memory_file_system", lambda path: None)
    monkeypatch.setattr("gate.world.unheld.memory_file_system", lambda path: None)
    return Home(tmp_path)


def test_it_says_what_it_is() -> None:
    assert (CHECK.name, CHECK.label, CHECK.scope, CHECK.keeps) == ("runaway_output", "OUTPUT", MACHINE, False)
    assert "1.4 TB" in CHECK.incident_title
    options = CHECK.options()
    assert {name: getattr(options, name) / 2048 for name in OPTIONS} == OPTIONS
    assert "2 GiB" in CHECK.summary
    assert "16 GiB" in CHECK.summary


Make = Callable[[Home], object]
TASKS = "Claude Code's task output and scratch"


def many(world: Home, path: str, count: int, gib: float) -> None:
    for number in range(count):
        world.put(path.format(number), gib)


def task_of_5_gb(world: Home) -> None:
    world.task("b95", 4.7)
    for number in range(78):
        world.task(f"c{number}", 0)


def before_there_were_sessions(world: Home) -> None:
    world.put(f"tmp:claude-{UID}/-home-you-app/tasks/b1.output", 405)


def fifty_sessions(world: Home) -> None:
    many(world, f"tmp:claude-{UID}/-home-you/{{:08x}}-0000-4000-8000-0123456789ab/tasks/b.output", 50, 1.9)


def two_sessions_with_scratch(world: Home) -> None:
    for session in (ONE, OTHER):
        many(world, f"tmp:claude-{UID}/-home-you-app/{session}/scratchpad/{{}}/x", 8, 1.5)


def four_logs_of_20_gb(world: Home) -> None:
    for number in range(4):
        world.put(f".claude/debug/{ONE[:-1]}{number}.txt", 20)


DEBTS: dict[str, tuple[Make, str]] = {
    "a login prompt in a loop (cc#39909)": (
        task_of_5_gb, f"{TASKS}: 2.4 MiB in -home-you-app/{ONE}/tasks/b95.output (limit 1 MiB for one file)"),
    "no session in the path (cc#42388)": (
        before_there_were_sessions, f"{TASKS}: 202 MiB in -home-you-app/tasks/b1.output (limit 1 MiB for one file)"),
    "fifty sessions (cc#35164)": (fifty_sessions, f"{TASKS}: 48.* MiB in 50 files (limit 8 MiB in all)"),
    "scratch of two (cc#75354)": (
        two_sessions_with_scratch,
        f"{TASKS}: 6.* MiB in -home-you-app/{OTHER}, 6.* MiB in -home-you-app/{ONE} (limit 8 MiB in all)"),
    "a log that logs itself (cc#16093)": (
        four_logs_of_20_gb,
        f"Claude Code's debug logs: 10 MiB in {ONE[:-1]}*.txt, 10 MiB in *, 1 more (limit 1 MiB for one file)"),
    "many debug logs (cc#28235)": (
        lambda world: many(world, ".claude/debug/{}.txt", 600, 0.3),
        "Claude Code's debug logs: 9* MiB in 600 files (limit 8 MiB in all)"),
    "a second profile": (
        lambda world: world.put(".claude-work/debug/a.txt", 3), "Claude Code's debug logs: 1.5 MiB in a.txt (*"),
    "MCP logs (cc#69427)": (
        lambda world: many(world, ".cache/claude-cli-nodejs/-home-you/mcp-logs-x/{}.jsonl", 14, 1.9),
        "Claude Code's MCP logs: 13.* MiB in 14 files (limit 8 MiB in all)"),
    "MCP logs on macOS (cc#18869)": (
        lambda world: world.put("Library/Caches/claude-cli-nodejs/-Users-you/mcp-logs-x/a.jsonl", 40),
        "Claude Code's MCP logs: 20 MiB in -Users-you/mcp-logs-x/a.jsonl (limit *"),
    "Codex's log (openai/codex#13463)": (
        lambda world: world.put(".codex/log/codex-tui.log", 50), "Codex's logs: 25 MiB in codex-tui.log (limit *"),
    "its log database (openai/codex#26374)": (
        lambda world: world.put(".codex/logs_2.sqlite", 9.8),
        "Codex's log databases: 4.9 MiB in logs_2.sqlite (limit 2 MiB in all)"),
    "hook outputs": (
        lambda world: world.put(f"tmp:hook_outputs/{ONE}/a.txt", 3),
        f"Codex's hook outputs: 1.5 MiB in {ONE}/a.txt (*"),
    "Gemini's background log": (
        lambda world: world.put(".gemini/tmp/background-processes/1.log", 3),
        "Gemini CLI's output: 1.5 MiB in background-processes/1.log (limit *"),
    "Gemini's shells": (
        lambda world: many(world, "tmp:gemini-shell-{:06}/bgpids.tmp", 5, 1),
        "Gemini CLI's shell directories: 2.* MiB in 5 files (limit 2 MiB in all)"),
    "Copilot's log (github/copilot-cli#4612)": (
        lambda world: world.put(".copilot/logs/a.log", 13), "Copilot CLI's logs: 6.5 MiB in a.log (limit *"),
    "OpenCode's log": (
        lambda world: world.put(".local/share/opencode/log/opencode.log", 3),
        "OpenCode's logs and tool output: 1.5 MiB in opencode.log (limit *"),
    "OpenCode's snapshots (anomalyco/opencode#17753)": (
        lambda world: many(world, ".local/share/opencode/snapshot/a/objects/pack/pack-{}.pack", 2, 9),
        "OpenCode's snapshots: 9.0 MiB in 2 files (limit 8 MiB in all)"),
    "its scratch": (
        lambda world: world.put("tmp:opencode/a/b", 3), "OpenCode's scratch: 1.5 MiB in a/b (limit 1 MiB for one *"),
    "its databases (anomalyco/opencode#36831)": (
        lambda world: many(world, "tmp:opencode-wal-17840208940{:02}.db", 4, 1.4),
        "OpenCode's temporary databases: 2.8 MiB in 4 files (limit 2 MiB in all)"),
    "its libraries (anomalyco/opencode#28089)": (
        lambda world: many(world, "tmp:.5fff{:04x}-00000000.so", 600, 0.0082),
        "OpenCode's unpacked libraries: 4.* MiB in 600 files (limit 2 MiB in all)"),
    "a journal of 5.5 GB, also while it is in use (anomalyco/opencode#37495)": (
        lambda world: world.processes.add(
            "opencode", holds=[world.put(".local/share/opencode/opencode.db-wal", 5.1)]),
        "OpenCode's journals: 2.* MiB in opencode.db-wal (limit 2 MiB in all)"),
    "browsers' profiles (jef/streetmerchant#378)": (
        lambda world: many(world, "tmp:puppeteer_dev_chrome_profile-{:06}/Default/Cache/x", 40, 0.5),
        "profiles of automated browsers: 10.* MiB in 40 files (limit 2 MiB in all)"),
    "a directory for each run (danielmiessler/LifeOS#1297)": (
        lambda world: many(world, "tmp:pai-parallel-{}/git.sh", 400, 0.008),
        "LifeOS's status line: * MiB in 400 files (limit 2 MiB in all)"),
}  # fmt: skip


@pytest.mark.parametrize("case", DEBTS)
def test_debt(world: Home, case: str) -> None:
    make, expected = DEBTS[case]
    make(world)
    finding = world.only()
    assert finding.kind == DEBT
    assert fnmatchcase(said(finding), expected), said(finding)


def a_month_of_claude_code(world: Home) -> None:
    """Scratch of 3 GB in ten days was the most that was reported of regular use (melodic-software#1637)."""
    for number in range(40):  # fewer directories than there were: here each takes as much as 8 MiB
        session = f"{number:08x}-1111-4222-8333-0123456789ab"
        world.put(f"tmp:claude-{UID}/-home-you-app/{session}/scratchpad/b", 0.225)
        world.task("b1", 0, session)
    for number in range(78):
        world.task(f"c{number}", 0.0003)
    world.task("a-noisy-build", 1.6)
    for number in range(174):
        world.put(f"tmp:claude-{number:04x}-cwd", 0)
    many(world, ".claude/debug/{:08x}-1111-4222-8333-0123456789ab.txt", 481, 0.002)
    (world.home / ".claude/debug/latest").symlink_to("00000000-1111-4222-8333-0123456789ab.txt")
    many(world, ".cache/claude-cli-nodejs/-home-you-app/mcp-logs-x/{}.jsonl", 300, 0.005)
    for path, gib in (("projects/-home-you-app/a.jsonl", 5.2), ("projects/-home-you-app/b.jsonl", 40),
                      ("file-history/a/b", 3), ("shell-snapshots/snapshot-bash-1.sh", 3)):  # fmt: skip
        world.put(f".claude/{path}", gib)


def a_month_of_codex(world: Home) -> None:
    many(world, ".codex/sessions/2026/11/01/rollout-{}.jsonl", 20, 2.6)
    held = [world.put(".codex/logs_2.sqlite", 2.1), world.put(".codex/logs_2.sqlite-wal", 0.4)]
    world.processes.add("codex", holds=held)
    for path, gib in (("log/codex-tui.log", 1.5), ("state_5.sqlite", 6), ("packages/app-server-daemon/codex", 20)):
        world.put(f".codex/{path}", gib)


def a_month_of_the_others(world: Home) -> None:
    for path, gib in (
        ("tmp/a/chats/session-1.jsonl", 20), ("tmp/a/checkpoints/c.json", 9), ("tmp/a/logs.json", 3),
        ("tmp/a/shell_history", 3), ("tmp/a/tool-outputs/o.txt", 0.5), ("history/a/objects/pack/p.pack", 9),
    ):  # fmt: skip
        world.put(f".gemini/{path}", gib)
    world.put(".copilot/logs/process-1.log", 0.5)
    world.put(".copilot/session-state/a/events.jsonl", 12)
    for path, gib in (("opencode.db", 10), ("opencode.db-wal", 0.3), ("snapshot/a/objects/pack/pack-1.pack", 9),
                      ("snapshot/b/objects/pack/pack-2.pack", 3), ("log/opencode.log", 0.5)):  # fmt: skip
        world.put(f".local/share/opencode/{path}", gib)
    many(world, "tmp:opencode/a/{}", 20, 0.1)
    many(world, "tmp:opencode-wal-178402089401{}.db", 2, 1.4)
    many(world, "tmp:.5fff{:04x}-00000000.so", 200, 0.0042)
    many(world, "tmp:playwright_chromiumdev_profile-{:06}/Default/Cache/x", 10, 0.1)
    many(world, "tmp:gemini-shell-{}/bgpids.tmp", 30, 0)


def test_a_heavy_users_healthy_machine_is_silent(world: Home) -> None:
    world.repository()
    for month in (a_month_of_claude_code, a_month_of_codex, a_month_of_the_others):
        month(world)
    assert list(map(texts, world.findings())) == []
    world.pass_time(30 * 86400)
    assert world.findings() == [], "nothing of it becomes too much by its age"
    assert len(world.findings(max_file=GIB // 1000, max_tree=GIB // 1000, max_small=GIB // 1000)) > 10, (
        "it was looked at"
    )


def links_to_transcripts(world: Home) -> None:
    """Incident: 61 of them beside two task outputs (cc#41737)."""
    world.task("b1", 0)
    outside = world.put(".claude/projects/-home-you-app/a.jsonl", 300)
    for number in range(61):
        (world.temp / f"claude-{UID}/-home-you-app/{ONE}/tasks/a{number}.output").symlink_to(outside)


def a_hole(world: Home) -> None:
    with world.task("b1", 0).open("r+b") as file:
        file.truncate(1 << 40)


def second_names(world: Home) -> None:
    """As package managers make them, from one session's scratch to the next."""
    first = world.put(f"tmp:claude-{UID}/-home-you-app/{ONE}/scratchpad/a", 1.9)
    for number in range(20):
        place = world.temp / f"claude-{UID}/-home-you-app/{number:08x}-1111-4222-8333-0123456789ab"
        place.mkdir()
        os.link(first, place / "a")


def a_link_to_nothing_that_is_kept(world: Home) -> None:
    """People send the debug logs there."""
    (world.home / ".claude").mkdir()
    (world.home / ".claude/debug").symlink_to(os.devnull)


CLEAN: dict[str, Make] = {
    "nothing at all": lambda world: None,
    "a temp directory that is gone": lambda world: shutil.rmtree(world.temp),
    "a home that is gone": lambda world: shutil.rmtree(world.home),
    "symbolic links to transcripts": links_to_transcripts,
    "a hole of a terabyte": a_hole,
    "second names of one file": second_names,
    "a link to /dev/null": a_link_to_nothing_that_is_kept,
    "another user's": lambda world: world.put(f"tmp:claude-{UID + 1}/-home-other/{ONE}/tasks/b.output", 50),
}


@pytest.mark.parametrize("case", CLEAN)
def test_clean(world: Home, case: str) -> None:
    CLEAN[case](world)
    assert list(map(texts, world.findings())) == []


def test_what_links_do_not_hide(world: Home) -> None:
    links_to_transcripts(world)
    for name, gib in (("b2", 232), ("b3", 46)):
        world.task(name, gib)
    assert said(world.only()) == (
        f"{TASKS}: 116 MiB in -home-you-app/{ONE}/tasks/b2.output, 23 MiB in -home-you-app/{ONE}/tasks/b3.output "
        "(limit 1 MiB for one file)"
    )


def test_a_place_that_is_a_link_is_a_note(world: Home) -> None:
    """A temp directory in memory was too small for somebody."""
    world.put("elsewhere/-home-you-app/b.output", 50)
    (world.temp / f"claude-{UID}").symlink_to(world.home / "elsewhere")
    finding = world.only()
    assert finding.kind == NOTE
    assert said(finding).endswith(f"/claude-{UID}) is a symbolic link to {world.home}/elsewhere, and is not followed")


def test_the_limits_themselves_are_not_over_them(world: Home) -> None:
    held = os.lstat(world.task("b1", 1)).st_blocks * 512
    assert world.findings(max_file=held) == []
    assert world.only(max_file=held - 1).kind == DEBT
    whole = held + sum(
        os.lstat(path).st_blocks * 512 for path in (world.temp / f"claude-{UID}").rglob("*") if path.is_dir()
    )
    assert world.findings(max_tree=whole) == []
    assert world.only(max_tree=whole - 1).kind == DEBT


def test_in_memory_the_limit_is_tighter(world: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Incident: 31 GB of a tmpfs, half of the machine's memory (cc#40108)."""
    monkeypatch.setattr("gate.world.excess.memory_file_system", memory_file_system)
    if memory_file_system("/dev/shm") != "tmpfs":
        pytest.skip("/dev/shm is not kept in memory here")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        there = Home(Path(directory))
        there.task("b1", 0.9)
        assert there.findings() == []
        there.task("b1", 1.1)
        finding = there.only()
        assert said(finding).endswith("b1.output (limit 512 KiB for one file, because tmpfs is memory)")
        assert "it lies on tmpfs: that is memory, not disk" in map(str, finding.details)
        there.task("b1", 0.6)
        there.task("b2", 0.6)
        assert said(there.only()).endswith(
            f" KiB in -home-you-app/{ONE} (limit 512 KiB in all, because tmpfs is memory)"
        )


def test_whose_it_is(world: Home) -> None:
    """Each part by the session in its path; what has none is the looker's, as the whole is."""
    world.task("b1", 3)
    world.put(f".claude/debug/{OTHER}.txt", 3)
    world.put(".codex/log/codex-tui.log", 3)
    subjects = [subject for finding in world.findings() for subject in finding.subjects]
    assert [subject.tag for subject in subjects] == [ONE, OTHER, None]
    assert all(os.path.isabs(subject.key) and subject.changed for subject in subjects)
    shutil.rmtree(world.temp / f"claude-{UID}")
    two_sessions_with_scratch(world)
    assert sorted(str(subject.tag) for subject in world.findings()[0].subjects) == [OTHER, ONE]


def test_where_to_look(world: Home) -> None:
    many(world, "tmp:opencode-wal-17840208940{:02}.db", 4, 1.4)
    assert str(world.only().remedy).startswith(f"ls -lS {world.temp} shows it, the biggest first; end what writes ")
    shutil.rmtree(world.temp)
    world.task("b1", 3)
    tasks = f"{world.temp}/claude-{UID}/-home-you-app/{ONE}/tasks"
    assert str(world.only().remedy).startswith(f"ls -lS {tasks} shows it, the biggest first; end what writes there ")
    shutil.rmtree(world.temp)
    fifty_sessions(world)
    assert str(world.only().remedy).startswith(f"du -xhd 2 {world.temp}/claude-{UID} shows it; end what writes there ")


def test_only_the_chosen_parts_are_spoken_of(world: Home) -> None:
    world.task("b1", 3, ONE)
    world.task("b2", 4, OTHER)
    finding = world.only()
    for subject in finding.subjects:
        text = str(finding.summarise([subject]))
        assert (ONE in text, OTHER in text) == (subject.tag == ONE, subject.tag == OTHER)


def kinds(finding: Finding, evidence: Evidence) -> dict[str, list[str]]:
    return {part.kind: sorted(str(subject.tag) for subject in part.subjects) for part in attribute(finding, evidence)}


def test_a_living_sessions_is_deferred_and_a_dead_ones_is_debt(world: Home) -> None:
    world.task("b1", 3, ONE)
    world.task("b2", 3, OTHER)
    world.task("old", 3, ONE, age=86400)
    living = Evidence(keeps=False, living=[Living(ONE, world.clock.now() - 7200, "/elsewhere")])
    assert kinds(world.only(), living) == {"deferred": [ONE, ONE], DEBT: [OTHER]}
    assert kinds(world.only(), Evidence(keeps=False, first=False)) == {DEBT: [OTHER, ONE, ONE]}


def test_it_is_the_same_thing_while_it_grows_and_new_when_it_is_another(world: Home) -> None:
    path = world.task("b1", 3)
    first = world.only()
    with path.open("ab") as file:
        file.write(b"more\n")
    second = world.only()
    assert (first.key, first.subjects[0].key) == (second.key, second.subjects[0].key)
    assert first.subjects[0].fingerprint != second.subjects[0].fingerprint
    world.task("b2", 3)
    assert world.only().key == first.key
    assert len(world.only().subjects) == 2


def test_what_was_there_before_is_no_later_sessions(world: Home) -> None:
    path = world.task("b1", 3)
    (subject,) = world.only().subjects
    before = Evidence(keeps=False, ended=True, baselines=[Baseline({key_of(subject): subject.fingerprint})])
    assert kinds(world.only(), before) == {NOTE: [ONE]}
    with path.open("ab") as file:
        file.write(b"more\n")
    assert kinds(world.only(), before) == {DEBT: [ONE]}
