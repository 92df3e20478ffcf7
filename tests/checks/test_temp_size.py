"""TMP: real directories of real sizes, ages and kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gate_checks import temp_size

from gate.api import DEBT, MACHINE, NOTE, UNKNOWN, Finding
from gate.testing import World, run_check
from gate.world.tree import Tree, measure

CHECK = temp_size.gate_check()
MIB = 1 << 20


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def capture(world: World) -> Path:
    directory = world.temp / "capture-live"
    directory.mkdir()
    return directory


def fill(directory: Path, files: int, count: int = 0) -> None:
    for number in range(files):
        with (directory / f"{number:04}.raw").open("wb") as file:
            if count:
                os.posix_fallocate(file.fileno(), 0, count)


def allocated(*paths: Path) -> int:
    return sum(os.lstat(path).st_blocks * 512 for path in paths)


def summary(finding: Finding) -> str:
    return str(finding.summarise(finding.subjects))


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1
    return findings[0]


def test_it_says_what_it_is() -> None:
    assert (CHECK.name, CHECK.label, CHECK.scope, CHECK.keeps) == ("temp_size", "TMP", MACHINE, False)
    assert "37 GB" in CHECK.incident_title


Make = Callable[[World, Path], object]


def one_big_file(world: World, capture: Path) -> None:
    fill(capture, 1, 513 * MIB)


def several_in_subdirectories(world: World, capture: Path) -> None:
    for name in ("a", "b/c"):
        (capture / name).mkdir(parents=True)
        fill(capture / name, 3, 90 * MIB)


def twenty_one_files(world: World, capture: Path) -> None:
    fill(capture, 21)


def files_in_subdirectories(world: World, capture: Path) -> None:
    for number in range(21):
        (capture / str(number)).mkdir()
        (capture / str(number) / "a.raw").touch()


def beside_links_and_holes(world: World, capture: Path) -> None:
    sparse(world, capture)
    symlinks_out(world, capture)
    fill(capture, 21)


DEBTS: dict[str, tuple[Make, str]] = {
    "over 512 MiB in one file": (one_big_file, "MiB in 1 file"),
    "over 512 MiB in several, some of them deep": (several_in_subdirectories, "MiB in 6 files"),
    "21 files that hold nothing": (twenty_one_files, "0 B in 21 files"),
    "a file in each of 21 directories": (files_in_subdirectories, "in 21 files"),
    "21 files beside what does not count": (beside_links_and_holes, "in 22 files"),
}


@pytest.mark.parametrize("case", DEBTS)
def test_debt(world: World, capture: Path, case: str) -> None:
    make, amount = DEBTS[case]
    make(world, capture)
    finding = only(run_check(CHECK, world))
    assert finding.kind == DEBT
    assert finding.subjects[0].key == str(capture)
    text = summary(finding)
    assert text.startswith("capture-live holds ")
    assert text.endswith(f"{amount} (limit 512 MiB or 20 files)")
    assert "at least" not in text


def missing(world: World, capture: Path) -> None:
    capture.rmdir()


def temp_directory_that_is_gone(world: World, capture: Path) -> None:
    shutil.rmtree(world.temp)


def twenty_files(world: World, capture: Path) -> None:
    fill(capture, 20)


def hundreds_of_directories(world: World, capture: Path) -> None:
    for number in range(100):
        (capture / str(number)).mkdir()


def sparse(world: World, capture: Path) -> None:
    with (capture / "sparse").open("wb") as file:
        file.truncate(1 << 40)


def hard_links(world: World, capture: Path) -> None:
    fill(capture, 1, 20 * MIB)
    for number in range(30):
        os.link(capture / "0000.raw", capture / f"hard-{number}")


def symlinks_out(world: World, capture: Path) -> None:
    """Incident: 61 of them, into other sessions' transcripts."""
    outside = world.directory / "elsewhere"
    outside.mkdir()
    fill(outside, 30, 20 * MIB)
    for number in range(30):
        (capture / f"soft-{number}").symlink_to(outside / f"{number:04}.raw")
    (capture / "all").symlink_to(outside)


def symlinks_in(world: World, capture: Path) -> None:
    fill(capture, 1, 100 * MIB)
    for number in range(30):
        (capture / f"soft-{number}").symlink_to("0000.raw")
    (capture / "itself").symlink_to(capture)


def pipes(world: World, capture: Path) -> None:
    for number in range(30):
        os.mkfifo(capture / str(number))


def what_a_healthy_client_has(world: World, capture: Path) -> None:
    """78 task outputs of a living session, and what one day leaves of `claude-*-cwd`: 174 files of 22 bytes."""
    tasks = world.temp / "claude-1000/-home-you-app/5f3c/tasks"
    tasks.mkdir(parents=True)
    for number in range(78):
        (tasks / f"b{number:06}.output").write_text("done\n")
    for number in range(174):
        (world.temp / f"claude-{number:04x}-cwd").write_text("/home/you/projects/app")


def others_temp_files(world: World, capture: Path) -> None:
    fill(world.temp, 30)


CLEAN: dict[str, Make] = {
    "a missing directory": missing,
    "a temp directory that the system's cleaner took": temp_directory_that_is_gone,
    "an empty one": lambda world, capture: None,
    "20 files": twenty_files,
    "directories without a file": hundreds_of_directories,
    "a sparse file of a terabyte": sparse,
    "30 more names of one file": hard_links,
    "symlinks out of it": symlinks_out,
    "symlinks within it, and to itself": symlinks_in,
    "pipes": pipes,
    "a healthy client's own files": what_a_healthy_client_has,
    "others' files in the temp directory": others_temp_files,
}


@pytest.mark.parametrize("case", CLEAN)
def test_clean(world: World, capture: Path, case: str) -> None:
    CLEAN[case](world, capture)
    assert run_check(CHECK, world) == []


def test_without_a_tmpdir_it_is_tmp(world: World) -> None:
    del world.environ["TMPDIR"]
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        fill(Path(directory), 21)
        name = os.path.basename(directory)
        finding = only(run_check(CHECK, world, paths=(f"$TMPDIR/{name}",)))
        assert (finding.kind, finding.subjects[0].key) == (DEBT, os.path.realpath(directory))


def test_the_limit_itself_is_not_over_it(world: World, capture: Path) -> None:
    fill(capture, 3, MIB)
    held = allocated(*capture.iterdir())
    assert run_check(CHECK, world, max_bytes=held) == []
    assert only(run_check(CHECK, world, max_bytes=held - 1)).kind == DEBT


def test_the_incident(world: World, capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """326 files of 37 GiB; what is allocated is multiplied, because no test's disk holds that."""
    fill(capture, 326, 65536)
    factor = 37 * (1 << 30) / (326 * 65536)

    def bigger(*arguments: object) -> object:
        held = measure(*arguments)  # type: ignore[arg-type]
        return temp_size.Held(round(held.bytes * factor), held.files, held.newest, held.biggest)

    monkeypatch.setattr(temp_size, "measure", bigger)
    found = only(run_check(CHECK, world))
    assert summary(found) == "capture-live holds 37.0 GiB in 326 files (limit 512 MiB or 20 files)"


def test_a_watched_link_is_not_followed_but_noted(world: World) -> None:
    fill(world.temp, 30)
    link = world.temp / "capture-live"
    link.symlink_to(world.temp)
    finding = only(run_check(CHECK, world))
    assert (finding.kind, finding.subjects[0].key) == (NOTE, str(link))
    assert summary(finding) == f"capture-live is a symbolic link to {world.temp}, and is not followed"


def test_a_temp_directory_behind_a_link_is_watched(world: World, capture: Path) -> None:
    """As /tmp is on macOS."""
    fill(capture, 21)
    alias = world.directory / "alias"
    alias.symlink_to(world.temp)
    world.environ["TMPDIR"] = str(alias)
    finding = only(run_check(CHECK, world))
    assert finding.subjects[0].key == str(capture)
    assert summary(finding).startswith("capture-live holds ")


def test_the_subject_changes_with_the_newest_change_and_keeps_its_key(world: World, capture: Path) -> None:
    fill(capture, 21)
    for path in (*capture.iterdir(), capture):
        world.age(path, 3 * 3600)
    world.age(capture / "0007.raw", 2 * 3600)
    (first,) = only(run_check(CHECK, world)).subjects
    assert first.key == str(capture)
    assert first.changed == os.stat(capture / "0007.raw").st_mtime
    detail = str(only(run_check(CHECK, world)).details[0])
    assert detail == f"{capture}: the newest change was 2 h ago"
    world.age(capture / "0003.raw", 60)
    (second,) = only(run_check(CHECK, world)).subjects
    assert second.key == first.key
    assert second.fingerprint != first.fingerprint


def test_details_name_the_biggest_and_the_remedy_only_looks(world: World, capture: Path) -> None:
    (capture / "a b").mkdir()
    fill(capture / "a b", 2, 3 * MIB)
    fill(capture, 21)
    finding = only(run_check(CHECK, world))
    assert str(finding.details[1]) == 'the biggest: "a b/0001.raw" (3 MiB), "a b/0000.raw" (3 MiB)'
    assert str(finding.details[-1]) == "bytes are those allocated; what copies share (clones) is counted for each"
    assert str(finding.remedy).startswith(f"du -sh {capture} shows it; ")
    assert "rm " not in str(finding.remedy)


def test_hostile_names_are_quoted(world: World) -> None:
    directory = world.temp / "cap\n\x1b[31m\u202e"
    directory.mkdir()
    fill(directory, 21, 4096)
    (directory / "0000.raw").rename(directory / "0\n<tag>")
    finding = only(run_check(CHECK, world, paths=("$TMPDIR/cap*",)))
    for text in (summary(finding), *map(str, finding.details), str(finding.remedy)):
        assert text.isprintable()
        assert "<" not in text


def test_paths_may_be_patterns_and_overlap(world: World, capture: Path) -> None:
    for name in ("capture-live", "capture-old", "other"):
        (world.temp / name).mkdir(exist_ok=True)
        fill(world.temp / name, 21)
    paths = (
        "$TMPDIR/capture-*",
        "$TMPDIR/capture-live",
        "${TMPDIR}/capture-live/",
        "$TMPDIR/capture-live/../capture-old",
    )
    assert [f.subjects[0].name for f in run_check(CHECK, world, paths=paths)] == ["capture-live", "capture-old"]
    whole = only(run_check(CHECK, world, paths=("$TMPDIR", *paths)))
    assert " in 63 files " in summary(whole)
    assert whole.subjects[0].name == str(world.temp)


def test_a_directory_elsewhere_is_called_by_its_whole_path(world: World) -> None:
    for directory in (world.home / "capture-live", world.root / "capture-live"):
        directory.mkdir()
        fill(directory, 21)
    found = run_check(CHECK, world, paths=("~/capture-live", "capture-live"))
    assert [summary(finding).split()[0] for finding in found] == [
        str(world.home / "capture-live"),
        str(world.root / "capture-live"),
    ]


def test_ignored_names(world: World, capture: Path) -> None:
    fill(capture, 20)
    (capture / "model.keep").mkdir()
    fill(capture / "model.keep", 30, MIB)
    assert run_check(CHECK, world, ignore=("*.keep",)) == []
    assert " 50 files " in summary(only(run_check(CHECK, world)))


def test_a_single_file_in_the_place(world: World) -> None:
    fill(world.temp, 1, 2 * MIB)
    found = only(run_check(CHECK, world, paths=("$TMPDIR/*.raw",), max_bytes=MIB))
    assert summary(found) == "0000.raw holds 2 MiB in 1 file (limit 1 MiB or 20 files)"


class Ticking:
    """A clock that each entry of a directory moves on, as a disk does; nothing else does."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.each = 0.005
        self.status = os.stat(__file__)

    def __call__(self) -> float:
        return self.now

    def tick(self, _: object = None) -> None:
        self.now += self.each


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    ticking = Ticking()

    class SlowTree(Tree):
        def __init__(self, root: str, skip: object) -> None:
            super().__init__(root, ticking.tick)

    monkeypatch.setattr("gate.world.tree.Tree", SlowTree)
    monkeypatch.setattr(time, "monotonic", ticking)
    return ticking


def test_a_million_files_are_a_lower_bound_soon_after_the_limit(world: World, capture: Path, clock: Ticking) -> None:
    fill(capture, 150)
    finding = only(run_check(CHECK, world))
    assert finding.kind == DEBT
    counted = int(summary(finding).partition(" in ")[2].split()[0])
    assert 20 < counted < 20 + 60 + 2 * 16, "three tenths of a second after the limit"
    assert summary(finding).startswith(f"capture-live holds at least 0 B in {counted} files")
    assert clock.now < 1000.6


def test_short_time_below_the_limits_is_unknown_not_clean(world: World, capture: Path, clock: Ticking) -> None:
    clock.each = 0.002
    fill(capture, 100)
    finding = only(run_check(CHECK, world, max_files=10_000, limit=0.18))
    assert finding.kind == UNKNOWN
    assert finding.subjects[0].key == str(capture)
    assert str(finding.remedy).startswith(f"du -sh {capture} counts it; gate run temp_size takes more time")
    assert summary(finding).startswith(
        "capture-live could not be counted to the end in the time there was: at least 0 B in "
    )
    assert clock.now < 1000.2


def test_short_time_over_a_limit_is_debt(world: World, capture: Path, clock: Ticking) -> None:
    clock.each = 0.002
    fill(capture, 100)
    finding = only(run_check(CHECK, world, limit=0.18))
    assert (finding.kind, " at least " in summary(finding)) == (DEBT, True)
    assert clock.now < 1000.2


def test_a_slow_directory_leaves_time_for_the_others(world: World, clock: Ticking) -> None:
    for name in ("a", "b", "c", "d"):
        (world.temp / name).mkdir()
    fill(world.temp / "a", 200)
    fill(world.temp / "c", 21)
    for files, kinds in ((20, [(DEBT, "a"), (DEBT, "c")]), (180, [(UNKNOWN, "a")])):
        begun = clock.now
        found = run_check(CHECK, world, paths=("$TMPDIR/?",), limit=1, max_files=files)
        assert [(finding.kind, finding.subjects[0].name) for finding in found] == kinds
        assert clock.now < begun + 1


@pytest.mark.parametrize(("max_files", "kind"), [(20, DEBT), (1_000_000, UNKNOWN)])
def test_350_000_entries_are_answered_for_at_a_start(
    world: World, capture: Path, clock: Ticking, monkeypatch: pytest.MonkeyPatch, max_files: int, kind: str
) -> None:
    """Incident: 350,000 directories, one for each run, in 17 days. A cold disk takes 50 microseconds for one."""
    clock.each = 50e-6

    def entries(tree: Tree) -> Iterator[tuple[str, str, os.stat_result]]:
        for number in range(350_000):
            clock.tick()
            yield str(capture), str(number), clock.status

    monkeypatch.setattr(Tree, "entries", lambda tree: entries(tree))
    finding = only(run_check(CHECK, world, max_files=max_files, max_bytes=1 << 60, limit=1.8))
    assert (finding.kind, " at least " in summary(finding)) == (kind, True)
    assert clock.now < 1001.8


@pytest.fixture
def others_world() -> Iterator[World]:
    """A world that another user can reach, as pytest's directories are not."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield World(directory)
    for path, names, _ in os.walk(directory):
        for name in names:
            os.chmod(os.path.join(path, name), 0o755)
    shutil.rmtree(directory)


def as_nobody(world: World, **options: object) -> list[Finding]:
    context = world.context(CHECK, **options)
    if os.geteuid() != 0:
        return list(CHECK.run(context))
    os.seteuid(65534)
    try:
        return list(CHECK.run(context))
    finally:
        os.seteuid(0)


def test_unreadable_parts_are_said_and_the_debt_is_found(others_world: World) -> None:
    capture = others_world.temp / "capture-live"
    (capture / "closed").mkdir(parents=True)
    (capture / "closed").chmod(0o000)
    fill(capture, 21)
    debt, unknown = as_nobody(others_world)
    assert debt.kind == DEBT
    assert " 21 files " in summary(debt)
    assert unknown.kind == UNKNOWN
    assert debt.key != unknown.key
    assert summary(unknown) == f'1 in capture-live cannot be read: {capture}/closed ("Permission denied")'
    assert str(unknown.remedy) == (
        f"ls -ld {capture}/closed shows whose it is; it is known once this user can read all directories there, "
        "or `ignore` names them"
    )


def test_unreadable_and_otherwise_below_the_limits_is_unknown(others_world: World) -> None:
    (others_world.temp / "capture-live").mkdir(mode=0o000)
    assert [finding.kind for finding in as_nobody(others_world)] == [UNKNOWN]


def test_a_place_that_cannot_be_looked_into_is_unknown(others_world: World) -> None:
    others_world.temp.chmod(0o000)
    found = as_nobody(others_world, paths=("$TMPDIR/capture-*", "$TMPDIR/capture-live"))
    assert [finding.kind for finding in found] == [UNKNOWN, UNKNOWN]
    assert summary(found[0]) == '"$TMPDIR/capture-*" cannot be looked for: "Permission denied"'
    assert str(found[0].remedy).startswith("gate config shows it as `paths`; it is known once this user can read ")


@pytest.fixture
def mounted(capture: Path) -> Iterator[Path]:
    """A tmpfs in the capture directory, where one may mount."""
    path = capture / "mounted"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(path)]
    if os.geteuid() != 0 or not shutil.which("mount") or subprocess.run(command, check=False).returncode:
        pytest.skip("no right to mount a file system here")
    yield path
    subprocess.run(["umount", str(path)], check=True)


def test_another_file_system_is_not_entered_but_mentioned(world: World, capture: Path, mounted: Path) -> None:
    fill(mounted, 21)
    assert run_check(CHECK, world) == []
    fill(capture, 21)
    finding = only(run_check(CHECK, world))
    assert " 21 files " in summary(finding)
    assert "file systems mounted in it, not counted: 1" in map(str, finding.details)


def test_memory_is_called_memory(world: World, capture: Path, mounted: Path) -> None:
    (mounted / "capture-live").mkdir()
    fill(mounted / "capture-live", 21)
    world.environ["TMPDIR"] = str(mounted)
    assert "it lies on tmpfs: that is memory, not disk" in map(str, only(run_check(CHECK, world)).details)


def test_files_may_go_while_they_are_counted(world: World, capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(capture, 40)

    def measure_and_meet_a_cleaner(root: str, *rest: object) -> object:
        shutil.rmtree(root)
        return measure(root, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(temp_size, "measure", measure_and_meet_a_cleaner)
    assert run_check(CHECK, world) == []
