"""What piles hold: against du, by session, with big files told apart; whatever paths are called."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.world.excess import Excess, Limits, Part, too_much
from gate.world.outputs import Found, Outlet
from gate.world.piles import MOST_BIG, File, Pile, Share, grown_since, session_in, weigh

ONE = "5f3c1a9e-1111-4222-8333-0123456789ab"
OUTLET = Outlet("a client's output", (), "a test")


def allocate(path: Path, count: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        if count:
            os.posix_fallocate(file.fileno(), 0, count)
    return path


def weighed(found: Found, max_file: int = 1 << 60, ignore: tuple[str, ...] = ()) -> Pile:
    return weigh(found, max_file, 1 << 60, time.monotonic() + 60, 60, ignore)


def whole(root: Path, outlet: Outlet = OUTLET) -> Found:
    return Found(outlet, str(root), str(root), [str(root)])


def family(root: Path, *names: str) -> Found:
    return Found(OUTLET, f"{root}/*", str(root), [str(root / name) for name in names])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "output"
    directory.mkdir()
    return directory


def test_it_is_what_du_says_whichever_way_it_is_divided(root: Path) -> None:
    for number in range(8):
        allocate(root / f"run-{number}/{ONE[:-1]}{number}/a/b", 4096 * number * number)
    os.link(root / f"run-7/{ONE[:-1]}7/a/b", root / f"run-7/{ONE[:-1]}7/a/again")
    (root / "run-0/link").symlink_to(root / f"run-7/{ONE[:-1]}7/a/b")
    with (root / "run-2/hole").open("wb") as file:
        file.truncate(1 << 40)
    du = int(subprocess.run(["du", "-sx", "-B1", root], capture_output=True, check=True).stdout.split()[0])
    expected = du - os.lstat(root).st_blocks * 512
    names = [f"run-{number}" for number in range(8)]
    for found in (whole(root), family(root, *names, "gone")):
        for max_file in (1 << 60, 4096 * 30):
            pile = weighed(found, max_file)
            assert (pile.bytes, pile.files, pile.complete) == (expected, 9, True)
            assert pile.bytes == pile.rest + sum(each.bytes for each in pile.big)
            assert sorted(os.path.basename(os.path.dirname(os.path.dirname(each.path))) for each in pile.big) == (
                [] if max_file > 1 << 50 else [f"{ONE[:-1]}6", f"{ONE[:-1]}7"]
            )
    assert len(pile.sessions) == 8
    assert pile.sessions[f"{ONE[:-1]}5"].path == str(root / f"run-5/{ONE[:-1]}5")


def test_the_newest_change_of_all_and_of_each_session(root: Path) -> None:
    for number, then in enumerate((5000.0, 9000.0, 7000.0)):
        path = allocate(root / f"{ONE[:-1]}{number % 2}/{number}", 4096)
        os.utime(path, (then, then))
    for directory in root.iterdir():
        os.utime(directory, (1.0, 1.0))
    pile = weighed(whole(root))
    assert pile.newest == 9000.0
    assert {session[-1]: share.changed for session, share in pile.sessions.items()} == {"0": 7000.0, "1": 9000.0}


def test_files_of_a_family_are_its_parts(root: Path) -> None:
    for name in ("a.db", "b.db", "c.db"):
        allocate(root / name, 8192)
    pile = weighed(family(root, "a.db", "b.db"))
    assert (pile.files, pile.bytes) == (2, 16384)
    assert weighed(family(root, "a.db", "b.db"), ignore=("b*",)).files == 1


def test_names_that_are_something_else_are_left_out(root: Path) -> None:
    for name in ("p/chats/a", "p/logs.json", "p/tool-outputs/o", "chats-of-mine/a"):
        allocate(root / name, 4096)
    assert weighed(whole(root, Outlet("x", (), "", kept=("chats", "logs.json")))).files == 2
    assert weighed(whole(root, Outlet("x", (), "", kept=("chats",))), ignore=("*-of-*",)).files == 2


def test_only_so_many_big_files_are_told_apart(root: Path) -> None:
    sizes = [os.lstat(allocate(root / str(n), 8192)).st_blocks * 512 for n in range(MOST_BIG + 5)]
    pile = weighed(whole(root), 4096)
    assert (len(pile.big), pile.files, pile.bytes) == (MOST_BIG, MOST_BIG + 5, sum(sizes))
    assert pile.rest >= 5 * 8192


def test_half_made_packs_are_apart(root: Path) -> None:
    allocate(root / "a/objects/pack/tmp_pack_x", 1 << 20)
    allocate(root / "a/objects/pack/pack-1.pack", 8192)
    pile = weighed(whole(root))
    assert [each.path for each in pile.half_made] == [str(root / "a/objects/pack/tmp_pack_x")]
    assert (pile.files, pile.bytes < 1 << 20) == (1, True)


@pytest.mark.parametrize(
    ("path", "session"),
    [
        (f"/-home-you-app/{ONE}/tasks/b1.output", ONE),
        (f"/{ONE}.txt", ONE),
        (f"{ONE}/x", ONE),
        (f"/-home-you-{ONE}/{ONE[:-1]}c/tasks", ONE[:-1] + "c"),  # a worktree called by another UUID
        (f"/rollout-{ONE}.jsonl", None),
        (f"/{ONE}x/tasks", None),
        ("/2026-11-30T10-00-00-000Z.jsonl", None),
        ("", None),
    ],
)
def test_the_session_in_a_path(path: str, session: str | None) -> None:
    assert session_in(path) == session


@given(st.lists(st.text(), max_size=5), st.uuids(), st.sampled_from(["", ".txt", "/tasks/b.output"]))
def test_a_session_is_found_among_any_names(names: list[str], session: uuid.UUID, rest: str) -> None:
    path = "".join("/" + name for name in names)
    assert session_in(path) is None or "-" in path
    assert session_in(path + "/x\n") == session_in(path)
    found = session_in(f"{path}/{session}{rest}")
    assert found in (str(session), session_in(path))


def test_what_grew_is_told_by_its_length_or_its_blocks(root: Path) -> None:
    same, longer, denser, gone = (allocate(root / name, 8192) for name in ("same", "longer", "denser", "gone"))
    with denser.open("r+b") as file:
        file.truncate(1 << 20)
    files = weighed(whole(root), 0).big
    with longer.open("ab") as file:
        file.write(b"x" * 100)
    with denser.open("r+b") as file:
        os.posix_fallocate(file.fileno(), 0, 1 << 20)
    gone.unlink()
    grown = grown_since(files, 0.0)
    assert {os.path.basename(path) for path in grown} == {"longer", "denser"}
    assert grown[str(longer)] >= 100
    assert same.exists()
    assert grown_since([], 100.0) == {}


LIMITS = Limits(file=10, all=100)


def pile(rest: int, big: tuple[int, ...] = (), sessions: tuple[int, ...] = ()) -> Pile:
    made = Pile(Found(OUTLET, "/d", "/d", ["/d"]), sum(big), rest)
    made.big = [File(f"/d/{ONE}/{number}", size, size, 1.0, 0.0) for number, size in enumerate(big)]
    made.sessions = {str(number): Share(f"/d/s{number}", size, 1.0) for number, size in enumerate(sessions)}
    return made


def shape(parts: list[Part]) -> list[tuple[str, int]]:
    return [("all" if part.whole else part.name, part.bytes) for part in parts]


@pytest.mark.parametrize(
    ("given_pile", "expected"),
    [
        (pile(100), []),
        (pile(100, (), (60, 40)), []),
        (pile(101), [("all", 101)]),
        (pile(0, (11, 500)), [(f"{ONE}/1", 500), (f"{ONE}/0", 11)]),
        (pile(100, (500,)), [(f"{ONE}/0", 500)]),
        (pile(101, (500,)), [("all", 601), (f"{ONE}/0", 500)]),
        (pile(120, (), (90, 9, 21)), [("s0", 90), ("s2", 21)]),
        (pile(240, (), (90, 9, 21)), [("all", 240), ("s0", 90), ("s2", 21)]),
        (pile(120, (500,), (30,)), [(f"{ONE}/0", 500), ("s0", 30)]),
    ],
)
def test_which_parts_are_too_much(given_pile: Pile, expected: list[tuple[str, int]]) -> None:
    assert shape(too_much(given_pile, LIMITS)) == expected


def test_what_is_not_counted_is_said() -> None:
    made = pile(101)
    said = [str(detail) for detail in Excess(made, LIMITS, {}).details(1.0)]
    assert said[-1] == "bytes are those allocated; what copies share (clones) is counted for each"
    assert not any("mounted" in detail for detail in said)
    made.mounts = 2
    said = [str(detail) for detail in Excess(made, LIMITS, {}).details(1.0)]
    assert "file systems mounted in it, not counted: 2" in said


def test_debt_and_what_is_not_known_of_one_pile_are_two_findings() -> None:
    made = pile(50, (500,))
    made.complete = False
    excess = Excess(made, LIMITS, {})
    assert [part.bytes for part in excess.parts] == [500]
    assert [key for key, _, _ in excess.gaps] == ["count /d"]
    enough = pile(101, (500,))
    enough.complete = False
    assert Excess(enough, LIMITS, {}).gaps == []
