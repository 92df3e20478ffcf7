"""The trail that a state directory leaves outside of itself, so that a removed one is told from a first installation.

It lies in the user's cache directory: nothing is lost with it but this knowledge.
"""

from __future__ import annotations

import os

from gate import directories, files
from gate.errors import DamagedError
from gate.watchdog import within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE = 0.5
"""Seconds that a trail is worth."""

MOST = 20
"""How many state directories are remembered: tests and replays use others than the user's."""


def remember(state_dir: str, environ: Mapping[str, str]) -> None:
    """Note that there is a state directory. A failure loses nothing but the trail, and so does a cache directory that
    gives no answer.
    """
    within(PATIENCE, [lambda: _remember(state_dir, environ)])


def _remember(state_dir: str, environ: Mapping[str, str]) -> None:
    path = _path(environ)
    known = _read(path)
    if state_dir not in known:
        files.make_private_dir(os.path.dirname(path))
        files.write(path, os.fsencode("\0".join([*known, state_dir][-MOST:])))


def is_removed(state_dir: str, environ: Mapping[str, str]) -> bool:
    """Whether there was a state directory with projects in it once, and there is none now."""
    try:
        names = os.listdir(state_dir)
    except OSError:
        names = []
    if any(os.path.isdir(os.path.join(state_dir, name, "sessions")) for name in names):
        return False
    return bool(within(PATIENCE, [lambda: state_dir in _read(_path(environ))])[0])


def _path(environ: Mapping[str, str]) -> str:
    return os.path.join(directories.cache_dir(environ), "state-directories")


def _read(path: str) -> list[str]:
    try:
        return os.fsdecode(files.read(path) or b"").split("\0")
    except DamagedError:
        return []
