"""Worlds that tests begin with: git makes each kind once in a test process, and every test has a copy of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from gate.testing import World

WorldT = TypeVar("WorldT", bound=World)

_ADDRESSES = frozenset((".git", "config", "gitdir"))
"""Names of the files in which git writes down for itself where something is."""

_templates: dict[tuple[Path, type[World], object], Path] = {}


def copied(directory: Path, cls: type[WorldT], build: Callable[[WorldT], object]) -> WorldT:
    """A world of class `cls` in `directory` (pytest's tmp_path, or one in it), with what `build` makes in one."""
    above = next(path for path in (directory, *directory.parents) if path.name.startswith("test_")).parent
    key = (above, cls, build)
    if key not in _templates:
        world = cls((above / f"template-{len(_templates)}").resolve())
        build(world)
        shutil.rmtree(world.root / ".git/hooks", ignore_errors=True)  # samples, as many files as all the rest
        _templates[key] = world.directory
    old, new = os.fsencode(_templates[key]), os.fsencode(directory.resolve())

    def copy(source: str, target: str) -> None:
        shutil.copy2(source, target, follow_symlinks=False)
        if os.path.basename(source) in _ADDRESSES and not os.path.islink(source):
            Path(target).write_bytes(Path(source).read_bytes().replace(old, new))
            shutil.copystat(source, target)

    shutil.copytree(_templates[key], directory, symlinks=True, dirs_exist_ok=True, copy_function=copy)
    return cls(directory)


def repository(directory: Path) -> World:
    """A world whose project is a repository with one commit."""
    return copied(directory, World, World.repository)


@contextmanager
def nested(place: Path, names: str) -> Iterator[Path]:
    """Directories called so in one another, as deep as one path can name: the deepest. They are gone afterwards, which
    Python's own removal cannot do.
    """
    bottom = place
    try:
        while len(str(bottom)) < 3900:
            bottom = bottom / names
            bottom.mkdir(parents=True)
        yield bottom
    finally:
        subprocess.run(["rm", "-r", "-f", place], check=True)
