"""What an index is seen to have of junk, whatever its form; and what its paths are taken for."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import copied

from gate.project import find_project
from gate.testing import World
from gate.world.git import Git
from gate.world.taken_in import LARGE, Junk, suspects_of, taken_in
from gate.world.worktrees import list_worktrees

TIMEOUT = 20.0
EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""The name of an empty file, as of which all of these are made without a file on disk."""

RESERVED = ["nul", "NUL", "Aux", "con", "PRN", *(f"com{n}" for n in range(1, 10)), *(f"LPT{n}" for n in range(1, 10))]


def with_an_empty_file(world: World) -> None:
    world.repository()
    world.git("hash-object", "-w", world.file("../empty"))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return copied(tmp_path, World, with_an_empty_file)


def add(world: World, *names: str, mode: str = "100644", empty: str = EMPTY) -> None:
    records = b"".join(os.fsencode(f"{mode} {empty}\t{name}") + b"\0" for name in names)
    command = ["git", "update-index", "--add", "-z", "--index-info"]
    subprocess.run(command, input=records, cwd=world.root, env=world.environ, check=True, timeout=TIMEOUT)
    world.git("commit", "--quiet", "--message", "more")


def look(world: World, **more: object) -> dict[str, Junk]:
    (worktree, *others) = list_worktrees(find_project(str(world.root)))
    places, deadline = [tree.path for tree in others], time.monotonic() + TIMEOUT
    found = taken_in(Git(world.environ), worktree, places, frozenset({"fixtures"}), deadline, **more)  # type: ignore[arg-type]
    return {thing.path: thing.kind for thing in found}


def test_every_name_shows_in_the_bytes_of_an_index(world: World) -> None:
    """Or git would not be asked."""
    world.git("update-index", "--skip-worktree", "README")  # with a flag more, entries are longer
    for name in RESERVED[:8]:
        add(world, name, f"a directory/{name}")
        assert look(world) == {name: Junk.RESERVED, f"a directory/{name}": Junk.RESERVED}
        world.git("rm", "--quiet", "--cached", name, f"a directory/{name}")


def test_all_of_them_are_told(world: World) -> None:
    names = [f"{number}/{name}" for number, name in enumerate(RESERVED)]
    add(world, *names)
    assert look(world) == dict.fromkeys(names, Junk.RESERVED)
    add(world, "link/nul", mode="120000")
    assert "link/nul" in look(world)
    assert look(world, known=[*names, "link/nul"]) == {}


def version_four(world: World) -> None:
    """Each path gives only what differs from the one before."""
    world.git("update-index", "--index-version", "4")


def split(world: World) -> None:
    world.git("update-index", "--split-index")


def sparse(world: World) -> None:
    """Directories outside are one entry each."""
    world.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")


def large(world: World) -> None:
    add(world, *(f"some/where/deep/{number:0100d}" for number in range(LARGE // 150)))
    assert (world.root / ".git/index").stat().st_size > LARGE


@pytest.mark.parametrize("form", [version_four, split, sparse, large], ids=lambda form: form.__name__)
def test_the_form_of_an_index_changes_nothing(form: Callable[[World], None], world: World) -> None:
    expected = {
        "src/nul": Junk.RESERVED,
        "src/tmpclaude-12ab-cwd": Junk.DROPPED,
        "src/.worktrees/a/": Junk.WORKTREE,
    }
    add(world, "src/nul", "src/nulls", "src/tmpclaude-12ab-cwd", "src/.worktrees/a/x", "src/.worktrees/a/y", "b/con/x")
    form(world)
    assert look(world) == expected


def test_a_repository_whose_names_are_longer(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.git("init", "--quiet", "--object-format=sha256")
    world.git("config", "user.name", "A Person")
    world.git("config", "user.email", "person@example.org")
    (world.root / "empty").write_bytes(b"")
    add(world, "nul", empty=world.git("hash-object", "-w", "empty").strip())
    assert look(world) == {"nul": Junk.RESERVED}


def test_names_of_any_bytes(world: World) -> None:
    names = ["a b/nul", 'odd\nname"/con', os.fsdecode(b"\xff/nul"), ":(top)x/aux", "-x/prn"]
    add(world, *names)
    assert look(world) == dict.fromkeys(names, Junk.RESERVED)


def test_more_than_fit_on_a_command_line(world: World) -> None:
    """Incident: 1,290 in one session."""
    names = [f"{number}/{'d' * 150}/nul" for number in range(1290)]
    add(world, *names)
    assert look(world).keys() == set(names)


def test_a_path_in_conflict_is_one(world: World) -> None:
    listed = "".join(f"100644 {EMPTY} {stage}\tnul\0" for stage in (1, 2, 3))
    assert suspects_of(listed).single == {"nul": Junk.RESERVED}


def test_a_link_is_no_dropping() -> None:
    assert suspects_of(f"120000 {EMPTY} 0\ttmpclaude-12ab-cwd\0").single == {}
    assert suspects_of(f"100755 {EMPTY} 0\ttmpclaude-12ab-cwd\0").single == {"tmpclaude-12ab-cwd": Junk.DROPPED}


@given(st.text())
def test_any_answer_is_understood_or_left_out(text: str) -> None:
    found = suspects_of(text)
    names = [*found.single, *found.gitlinks, *(name for files in found.worktrees.values() for name in files)]
    assert all(name in text for name in names)


@given(st.lists(st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_no_other_name_is_taken_for_one(parts: list[str]) -> None:
    name = "/".join(parts)
    found = suspects_of(f"100644 {EMPTY} 0\t{name}\0")
    if found.single:
        assert parts[-1].lower() in {r.lower() for r in RESERVED} or "claude-" in parts[-1]
    if found.worktrees:
        assert ".worktrees" in parts or "worktrees" in parts
