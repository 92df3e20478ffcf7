"""TMP: real directories of real sizes, ages and kinds."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
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


def test_a_missing_directory_is_clean(world: World) -> None:
    assert run_check(CHECK, world) == []


def test_a_temp_directory_that_the_cleaner_took_is_clean(world: World) -> None:
    world.temp.rmdir()
    assert run_check(CHECK, world) == []


def test_twenty_files_are_none_too_many(world: World, capture: Path) -> None:
    fill(capture, 20)
    assert run_check(CHECK, world) == []


def test_twenty_one_files_are(world: World, capture: Path) -> None:
    fill(capture, 21, 4096)
    finding = only(run_check(CHECK, world))
    assert (finding.kind, summary(finding)) == (
        DEBT,
        "capture-live holds 84 KiB in 21 files (limit 512 MiB or 20 files)",
    )


def test_over_512_mib_that_are_really_there(world: World, capture: Path) -> None:
    fill(capture, 1, 513 * MIB)
    finding = only(run_check(CHECK, world))
    assert summary(finding).startswith("capture-live holds 513")
    assert summary(finding).endswith(" MiB in 1 file (limit 512 MiB or 20 files)")
    assert str(finding.details[1]).startswith("the biggest: 0000.raw (513")


def test_the_limit_itself_is_not_over_it(world: World, capture: Path) -> None:
    fill(capture, 3, MIB)
    held = allocated(*capture.iterdir())
    assert run_check(CHECK, world, max_bytes=held) == []
    assert only(run_check(CHECK, world, max_bytes=held - 1)).kind == DEBT


def test_the_incident(world: World, capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """326 files of 37 GiB; what is allocated is multiplied, because no test's disk holds that."""
    fill(capture, 326, MIB)
    factor = 37 * 1024 / 326

    def bigger(*arguments: object) -> object:
        held = measure(*arguments)  # type: ignore[arg-type]
        return temp_size.Held(round(held.bytes * factor), held.files, held.newest, held.biggest)

    monkeypatch.setattr(temp_size, "measure", bigger)
    found = only(run_check(CHECK, world))
    assert summary(found) == "capture-live holds 37.0 GiB in 326 files (limit 512 MiB or 20 files)"


def test_sparse_files_hard_links_and_links_are_no_debt(world: World, capture: Path) -> None:
    with (capture / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    for number in range(30):
        os.link(capture / "sparse", capture / f"hard-{number}")
    outside = world.directory / "elsewhere"
    outside.mkdir()
    fill(outside, 30, 20 * MIB)
    for number in range(30):
        (capture / f"soft-{number}").symlink_to(outside / f"{number:04}.raw")
    (capture / "all").symlink_to(outside)
    assert run_check(CHECK, world) == []


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


def test_very_many_files_are_a_lower_bound(world: World, capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(capture, 1000)
    monkeypatch.setattr(temp_size, "EXTRA", 0.0)
    finding = only(run_check(CHECK, world))
    assert finding.kind == DEBT
    assert summary(finding).startswith("capture-live holds at least 0 B in ")
    assert int(summary(finding).split()[7]) < 1000


def test_short_time_below_the_limits_is_unknown_not_clean(world: World, capture: Path, slow: None) -> None:
    fill(capture, 1000)
    finding = only(run_check(CHECK, world, max_files=10_000, limit=0.2))
    assert finding.kind == UNKNOWN
    assert finding.subjects[0].key == str(capture)
    assert summary(finding).startswith(
        "capture-live could not be counted to the end in the time there was: at least 0 B in "
    )


def test_short_time_over_a_limit_is_debt(world: World, capture: Path, slow: None) -> None:
    fill(capture, 1000)
    begun = time.monotonic()
    finding = only(run_check(CHECK, world, limit=0.2))
    assert time.monotonic() - begun < 0.8  # all of them would take a second and more
    assert (finding.kind, " at least " in summary(finding)) == (DEBT, True)


def test_a_slow_directory_leaves_time_for_the_others(world: World, slow: None) -> None:
    for name in ("a", "b", "c", "d"):
        (world.temp / name).mkdir()
    fill(world.temp / "a", 1000)
    fill(world.temp / "c", 21)
    found = run_check(CHECK, world, paths=("$TMPDIR/?",), limit=1, max_files=20)
    assert [(finding.kind, finding.subjects[0].name) for finding in found] == [(DEBT, "a"), (DEBT, "c")]
    found = run_check(CHECK, world, paths=("$TMPDIR/?",), limit=1, max_files=500)
    assert [(finding.kind, finding.subjects[0].name) for finding in found] == [(UNKNOWN, "a")]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system, over a network say, that takes a millisecond for each entry."""

    class SlowTree(Tree):
        def __init__(self, root: str, skip: object) -> None:
            super().__init__(root, lambda _: time.sleep(0.001))

    monkeypatch.setattr("gate.world.tree.Tree", SlowTree)


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


def test_unreadable_and_otherwise_below_the_limits_is_unknown(others_world: World) -> None:
    (others_world.temp / "capture-live").mkdir(mode=0o000)
    assert [finding.kind for finding in as_nobody(others_world)] == [UNKNOWN]


def test_a_place_that_cannot_be_looked_into_is_unknown(others_world: World) -> None:
    others_world.temp.chmod(0o000)
    found = as_nobody(others_world, paths=("$TMPDIR/capture-*", "$TMPDIR/capture-live"))
    assert [finding.kind for finding in found] == [UNKNOWN, UNKNOWN]
    assert summary(found[0]) == '"$TMPDIR/capture-*" cannot be looked for: "Permission denied"'


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
