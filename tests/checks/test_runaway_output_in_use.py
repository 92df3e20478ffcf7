"""OUTPUT that somebody is at: writers, journals and packs with and without a holder, removed files; and no time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from output_home import CHECK, GIB, ONE, OPTIONS, OTHER, UID, Home, texts

from gate.api import DEBT, NOTE, UNKNOWN, Finding, UnknownError
from gate.attribution import Evidence, attribute, key_of
from gate.testing import said
from gate.world.excess import PAUSE
from gate.world.outputs import OUTLETS
from gate.world.processes import ProcessTable
from gate.world.tree import Tree

STORE = ".local/share/opencode/snapshot/a"
HOUR = 3600.0


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr("gate.world.excess.memory_file_system", lambda path: None)
    monkeypatch.setattr("gate.world.unheld.memory_file_system", lambda path: None)
    return Home(tmp_path)


WRITER = """
import sys, time
file = open(sys.argv[1], "ab", buffering=0)
print("ready", flush=True)
while sys.stdin.readline().strip() == "more":
    file.write(b"x" * 65536)
    print("done", flush=True)
"""


class Writer:
    """A process that has a file open and writes to it when it is told."""

    def __init__(self, path: Path, **environ: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environ,
        )
        self.hear()

    def hear(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline()

    def write(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("more\n")
        self.process.stdin.flush()
        self.hear()


@pytest.fixture
def writer() -> Iterator[Callable[..., Writer]]:
    made: list[Writer] = []

    def start(path: Path, **environ: str) -> Writer:
        made.append(Writer(path, **environ))
        return made[-1]

    yield start
    for each in made:
        each.process.communicate("")


def test_what_still_grows_is_said_with_who_writes(
    world: Home, writer: Callable[..., Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = world.task("b1", 3, age=0), world.task("b2", 2.5, age=HOUR)
    process = writer(path)
    monkeypatch.setattr(world, "processes", ProcessTable())
    between: list[float] = []

    def write_meanwhile(seconds: float) -> None:
        between.append(seconds)
        process.write()
        with other.open("ab") as file:  # it is not looked at twice: nothing had written to it for an hour
            file.write(b"x" * 65536)

    monkeypatch.setattr(time, "sleep", write_meanwhile)
    finding = world.only()
    assert 0 < between[0] <= PAUSE
    assert f"1.5 MiB in -home-you-app/{ONE}/tasks/b1.output (growing), " in said(finding)
    assert "b2.output (limit" in said(finding)
    details = str(finding.subjects[0].detail), str(finding.subjects[1].detail)
    assert f"{path}: 1.5 MiB, last changed 0 s ago, 64 KiB more while one looked, open in " in details[0]
    assert details[0].endswith(f" ({process.process.pid})")
    assert "open in" not in details[1]
    assert "more" not in details[1]


def test_nobody_waits_where_nothing_can_grow(world: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("waited"))
    world.task("b1", 1, age=0)
    assert world.findings() == []
    world.task("b1", 3, age=HOUR)
    assert "growing" not in said(world.only())


def test_a_removed_file_that_is_still_open_is_debt(
    world: Home, writer: Callable[..., Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Incident: removed, 350 GB were still taken by a process that nobody had looked for (cc#33670)."""
    monkeypatch.setattr(world, "processes", ProcessTable())
    gone, small = world.task("b1", 3), world.task("b2", 1)
    named = world.put(".local/share/opencode/opencode.db-wal (deleted)", 5)
    elsewhere = world.put("work/big", 3)
    process, *_ = [writer(path) for path in (gone, small, named, elsewhere)]
    for path in (gone, small, elsewhere):
        path.unlink()
    finding = world.only()
    (subject,) = finding.subjects
    name = Path(f"/proc/{process.process.pid}/comm").read_text().strip()
    assert finding.kind == DEBT
    assert said(finding) == f"removed, but still open: {gone} (1.5 MiB, {name} has it open)"
    assert subject.tag == ONE
    assert subject.key.startswith("removed:")
    assert f"ps -o pid,ppid,etime,comm -p {process.process.pid} shows" in str(finding.remedy)
    process.write()
    assert world.only().subjects[0].fingerprint == subject.fingerprint
    process.process.communicate("")
    assert world.findings() == []


def test_whose_a_removed_file_is_and_that_it_may_be_memory(
    world: Home, writer: Callable[..., Writer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "processes", ProcessTable())
    path = world.put(".copilot/logs/a.log", 1.5)
    writer(path, COPILOT_AGENT_SESSION_ID=OTHER)
    path.unlink()
    assert world.findings() == []
    monkeypatch.setattr("gate.world.unheld.memory_file_system", lambda path: "tmpfs")
    assert [subject.tag for subject in world.only().subjects] == [OTHER]


def test_where_the_processes_are_hidden_a_removed_file_is_not_looked_for(
    world: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hidden(ProcessTable):
        @property
        def snapshot(self) -> list[object]:  # type: ignore[override]
            raise UnknownError("/proc hides the process table")

    monkeypatch.setattr(world, "processes", Hidden())
    world.task("b1", 3)
    assert [finding.kind for finding in world.findings()] == [DEBT]


def pack(world: Home, gib: float = 3, age: float = 2 * HOUR, name: str = "tmp_pack_aB3dEf") -> Path:
    return world.put(f"{STORE}/objects/pack/{name}", gib, age)


def test_packs_that_nobody_finishes_are_debt(world: Home) -> None:
    """Incident: 284 GB in six of them (anomalyco/opencode#9290)."""
    for name, gib in (("qM0CSW", 108), ("Latw37", 61), ("hJO3AO", 7.8)):
        pack(world, gib, name="tmp_pack_" + name)
    finding = world.only()
    assert finding.kind == DEBT
    assert said(finding) == (
        "OpenCode's snapshots: tmp_pack_qM0CSW (54 MiB), tmp_pack_Latw37 (30.5 MiB), tmp_pack_hJO3AO (3.9 MiB) "
        "that nobody has open (limit 256 KiB in all)"
    )
    assert finding.subjects[0].key.endswith("/tmp_pack_qM0CSW")
    assert str(finding.remedy).startswith(f"ls -lS {world.home}/{STORE}/objects/pack shows it, the biggest first; git ")
    assert world.findings(max_unheld=1 << 40) == []


def a_git_that_was_there(world: Home) -> None:
    world.processes.add("git", "gc", "--prune=7.days", age=3 * HOUR)


def a_git_of_another_users(world: Home) -> None:
    world.processes.add("git-index-pack", age=3 * HOUR, hidden=True)


def who_has_it_open(world: Home) -> None:
    world.processes.add("anything", age=60, holds=[pack(world)])


def who_wrote_just_now(world: Home) -> None:
    pack(world, age=60)


def a_git_that_came_later(world: Home) -> None:
    world.processes.add("git", "gc", age=HOUR)


def a_git_that_only_watches(world: Home) -> None:
    world.processes.add("git", "fsmonitor--daemon", "run", age=50 * HOUR)


def a_dead_git(world: Home) -> None:
    world.processes.add("git", "gc", age=3 * HOUR, state="Z")


def another_program(world: Home) -> None:
    world.processes.add("gitg", age=3 * HOUR)


@pytest.mark.parametrize(
    ("who", "kind"),
    [(a_git_that_was_there, NOTE), (a_git_of_another_users, NOTE), (who_has_it_open, NOTE), (who_wrote_just_now, NOTE),
     (a_git_that_came_later, DEBT), (a_git_that_only_watches, DEBT), (a_dead_git, DEBT), (another_program, DEBT)],
)  # fmt: skip
def test_a_pack_belongs_to_a_git_that_can_be_at_it(world: Home, who: Callable[[Home], None], kind: str) -> None:
    pack(world)
    who(world)
    finding = world.only()
    assert finding.kind == kind
    words = "perhaps in use" if kind == NOTE else "that nobody has open"
    assert said(finding) == f"OpenCode's snapshots: tmp_pack_aB3dEf (1.5 MiB) {words} (limit 256 KiB in all)"


def test_what_was_in_use_is_new_when_it_is_abandoned(world: Home) -> None:
    """Else what was noted as in use would be taken for a thing that was always there."""
    path = world.put(".codex/logs_2.sqlite-wal", 0.97)
    held = world.processes.add("codex", holds=[path])
    (before,) = world.only().subjects
    world.processes.end(held)
    (after,) = world.only().subjects
    assert before.key == after.key
    noted = Evidence(keeps=False, notes={key_of(before): before.fingerprint})
    assert [part.kind for part in attribute(world.only(), noted)] == [DEBT]


def test_a_little_of_each_is_too_much_of_neither(world: Home) -> None:
    pack(world, 0.3)
    world.processes.add("git", age=60, holds=[pack(world, 0.3, name="tmp_pack_b")])
    assert world.findings() == []


def test_a_pack_in_the_making_is_in_no_sum(world: Home) -> None:
    """git needs twice the space while it packs anew (anomalyco/opencode#17397)."""
    world.put(f"{STORE}/objects/pack/pack-1.pack", 15)
    world.processes.add("git", holds=[pack(world, 15)])
    assert [finding.kind for finding in world.findings()] == [NOTE]


def test_packs_in_this_repository_are_this_projects(world: Home) -> None:
    """Incident: 13 GB in two of them, in a home directory that was a repository (openai/codex#19588)."""
    world.repository()
    for number in range(2):
        path = world.root / f".git/objects/pack/tmp_pack_{number}"
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, int(6.5 * GIB))
        world.age(path, 2 * HOUR)
    finding = world.only()
    assert said(finding).startswith(f"{world.root}: tmp_pack_")
    assert {subject.directory for subject in finding.subjects} == {str(world.root)}
    (world.root / ".git/objects/pack/tmp_pack_0").unlink()
    (world.root / ".git/objects/pack/tmp_pack_1").unlink()
    assert world.findings() == []


CODEX = "Codex's log databases"


@pytest.mark.parametrize(
    ("journal", "name"),
    [(".codex/logs_2.sqlite-wal", CODEX), (".codex/state_5.sqlite-wal", "Codex's other journals"),
     (".codex-work/logs_2.sqlite-wal", CODEX), (".local/share/opencode/opencode.db-wal", "OpenCode's journals")],
)  # fmt: skip
def test_a_journal_that_nobody_has_open_is_debt(world: Home, journal: str, name: str) -> None:
    """Incident: 1.0 GB beside a database of 2.3 GB, on a disk of 31 (openai/codex#33644)."""
    path = world.put(journal, 0.97)
    world.put(journal.removesuffix("-wal"), 2.1)
    world.processes.add("git", age=9 * HOUR)
    finding = world.only()
    assert finding.kind == DEBT
    assert said(finding) == f"{name}: {path.name} (500 KiB) that nobody has open (limit 256 KiB in all)"
    assert "a -wal is never removed alone" in str(finding.remedy)
    world.age(path, 60)
    assert world.only().kind == NOTE, "its writer may not be seen from here"
    world.age(path, HOUR)
    world.processes.add("codex", holds=[path])
    assert (world.only().kind, "perhaps in use" in said(world.only())) == (NOTE, True)
    world.put(journal, 0.4)
    assert world.findings() == []


def test_whether_it_is_open_may_not_be_known(world: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(path: str) -> list[int]:
        raise UnknownError("/proc hides the process table", "ls -l /proc/self shows it")

    world.put(".codex/logs_2.sqlite-wal", 0.97)
    monkeypatch.setattr(world.processes, "holders", hidden)
    finding = world.only()
    assert finding.kind == UNKNOWN
    assert said(finding) == (
        f"{CODEX}: logs_2.sqlite-wal (500 KiB) of which it cannot be told whether they are open: "
        '"/proc hides the process table" (limit 256 KiB in all)'
    )
    assert str(finding.remedy) == "ls -l /proc/self shows it"
    world.put(".codex/logs_2.sqlite-wal", 0.4)
    assert world.findings() == [], "of little, nobody asks"


class Ticking:
    """A clock that each entry of a directory moves on, as a disk does; nothing else does."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.each = 0.002
        self.status = os.stat(__file__)

    def __call__(self) -> float:
        return self.now

    def tick(self, _: object = None) -> None:
        self.now += self.each


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    ticking = Ticking()
    slow = Tree._go_on

    def go_on(tree: Tree, *rest: object) -> Iterator[object]:
        for entry in slow(tree, *rest):  # type: ignore[arg-type]
            ticking.tick()
            yield entry

    monkeypatch.setattr(Tree, "_go_on", go_on)
    monkeypatch.setattr(time, "monotonic", ticking)
    return ticking


def test_short_time_is_unknown_not_clean(world: Home, clock: Ticking) -> None:
    for number in range(100):
        world.task(f"c{number}", 0)
    finding = world.only(limit=0.2)
    assert finding.kind == UNKNOWN
    assert said(finding).startswith(f"{OUTLETS[0].name} could not be counted in the time there was: at l")
    assert clock.now < 1000.2
    assert world.findings(limit=2.0) == []


def test_what_is_too_much_is_known_early(world: Home, clock: Ticking) -> None:
    for number in range(300):
        world.put(f".claude/debug/{number}.txt", 0.6)
    finding = world.only(limit=20.0)
    assert (finding.kind, "at least " in said(finding)) == (DEBT, True)
    assert clock.now < 1000.7, "three tenths of a second after the limit"


def test_a_big_file_does_not_end_the_search_for_the_next(world: Home, clock: Ticking) -> None:
    for number in range(400):
        world.task(f"c{number}", 0)
    for number in range(3):
        world.task(f"b{number}", 40)
    assert said(world.only(limit=20.0)).count("20 MiB in ") == 3


def test_a_slow_pile_leaves_time_for_the_others(world: Home, clock: Ticking) -> None:
    for number in range(600):
        world.put(f"tmp:claude-{UID}/-home-you/{number}", 0)
    world.put(".copilot/logs/a.log", 3)
    for number in range(150):
        world.put(f".copilot/logs/{number}", 0)
    assert [finding.kind for finding in world.findings(limit=1.0)] == [UNKNOWN, DEBT]
    assert clock.now < 1001.0


@pytest.mark.parametrize(("blocks", "kind"), [(8, DEBT), (0, UNKNOWN)])
def test_350_000_directories_are_answered_for_at_a_start(
    world: Home, clock: Ticking, monkeypatch: pytest.MonkeyPatch, blocks: int, kind: str
) -> None:
    """Incident: one for each run of a status line (danielmiessler/LifeOS#1297); a cold disk takes 50 microseconds."""
    clock.each = 50e-6
    (world.temp / f"claude-{UID}").mkdir()
    fields = list(os.lstat(world.temp))

    def entries(tree: Tree) -> Iterator[tuple[str, str, os.stat_result]]:
        for number in range(350_000):
            clock.tick()
            yield tree.root, str(number), os.stat_result((*fields[:10],), {"st_blocks": blocks, "st_mtime": 1.0})

    monkeypatch.setattr(Tree, "entries", entries)
    finding = world.only(limit=1.8)
    assert (finding.kind, " at least " in said(finding)) == (kind, True)
    assert clock.now < 1001.8


@pytest.fixture
def others_home() -> Iterator[Home]:
    """A world that another user can reach, as pytest's directories are not."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Home(Path(directory))
        for path, names, _ in os.walk(directory):
            for name in names:
                os.chmod(os.path.join(path, name), 0o755)


def as_nobody(world: Home) -> list[Finding]:
    context = world.context(CHECK, **OPTIONS)
    if os.geteuid() != 0:
        return list(CHECK.run(context))
    os.seteuid(65534)
    try:
        return list(CHECK.run(context))
    finally:
        os.seteuid(0)


def test_unreadable_parts_are_said_beside_what_is_found(others_home: Home) -> None:
    others_home.put(".claude/debug/a.txt", 3)
    closed = others_home.home / ".claude/debug/closed"
    closed.mkdir(mode=0o000)
    debt, unknown = as_nobody(others_home)
    assert (debt.kind, unknown.kind) == (DEBT, UNKNOWN)
    assert debt.key != unknown.key
    assert said(unknown) == f'1 of Claude Code\'s debug logs cannot be read: {closed} ("Permission denied")'
    assert str(unknown.remedy).startswith(f"ls -ld {closed} shows whose it is; ")


def test_a_place_that_cannot_be_looked_into_is_unknown(others_home: Home) -> None:
    (others_home.home / ".copilot").mkdir(mode=0o000)
    finding, *_ = as_nobody(others_home)
    assert finding.kind == UNKNOWN
    assert said(finding) == '~/.copilot/logs cannot be looked for: "Permission denied"'


def test_in_a_shared_directory_only_ones_own_counts(world: Home) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    for path in ("tmp:opencode/a", "tmp:puppeteer_dev_chrome_profile-1/a", "tmp:opencode-wal-1.db"):
        world.put(path, 30)
    assert len(world.findings()) == 3
    world.temp.chmod(0o1777)
    assert len(world.findings()) == 3
    for name in ("opencode", "puppeteer_dev_chrome_profile-1", "opencode-wal-1.db"):
        os.chown(world.temp / name, 12345, 12345)
    assert world.findings() == []


def test_further_places_and_ignored_names(world: Home) -> None:
    for number in range(5):
        world.put(f"tmp:mission-{number}-x/checkout/pack", 1.9)
    world.put("work/agent.log", 3)
    assert world.findings() == []
    paths = ("$TMPDIR/mission-*", "~/work", "$NOWHERE/x", "logs")
    many, one = world.findings(paths=paths, max_tree=8 * GIB)
    assert said(many) == f'"{world.temp}/mission-*": 4.8 MiB in 5 files (limit 4 MiB in all)'
    assert said(one) == f"{world.home}/work: 1.5 MiB in agent.log (limit 1 MiB for one file)"
    assert world.findings(paths=paths, max_tree=8 * GIB, ignore=("mission-*", "*.log")) == []
    assert len(world.findings(paths=paths, max_tree=8 * GIB, ignore=("checkout",))) == 1


def test_advice_only_looks_and_names_are_data(world: Home) -> None:
    world.put(f"tmp:claude-{UID}/-a\n\x1b[31m<b>\u202e/{ONE}/tasks/`x`.output", 3)
    world.put(f"tmp:claude-{UID}/-a/{ONE}/scratchpad/y", 0)
    for number in range(12):
        world.put(f".claude/debug/{number}.txt", 1.9)
    pack(world)
    world.put(".codex/logs_2.sqlite-wal", 0.97)
    found = world.findings()
    assert len(found) == 4
    for finding in found:
        for text in texts(finding).split("\n"):
            assert text.isprintable()
            assert "<b>" not in text
        for word in ("rm ", "kill", "delete", "-f ", "prune --", ">", "truncate"):
            assert word not in str(finding.remedy)
        assert str(finding.remedy).startswith(("ls -lS ", "du -xhd 2 "))
