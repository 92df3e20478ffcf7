"""The stamp of a configuration: tells that something which decides what the suite does has changed.

A marker carries the stamp that it was made under, so that a green start needs to read no TOML: one `stat` for each.
"""

from __future__ import annotations

import os
import sys

from gate import __version__, directories
from gate.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gate.project import Project


MOST_BROUGHT = 50
"""Files of a project's own checks that are looked at, by their names; where there are more, none is one."""


def config_paths(project: Project, environ: Mapping[str, str]) -> list[str]:
    """Everything that can change what the suite does here: the configuration files that count, present or not, in the
    order of their weight, the user's waivers, and the directories of the user's and the project's own checks with their
    files (one edited in place leaves it as it was).
    """
    paths = [os.path.join(project.root, ".gate.toml"), os.path.join(project.root, "pyproject.toml")]
    paths += _brought(project, environ)
    try:
        user = directories.config_file(environ)
    except StateError:
        return paths
    waivers = os.path.join(os.path.dirname(user), "waivers.toml")
    return [*paths, user, waivers, *_with_files(os.path.join(os.path.dirname(user), "checks"))]


def _brought(project: Project, environ: Mapping[str, str]) -> list[str]:
    """The checks that a project brings, and what the user trusts of them; nothing where it brings none."""
    checks = os.path.join(project.root, ".gate", "checks")
    if not os.path.isdir(checks):
        return []
    try:
        trusted = [os.path.join(directories.state_dir(environ), "trusted.json")]
    except StateError:
        trusted = []
    return [*_with_files(checks)[: MOST_BROUGHT + 2], *trusted]


def _with_files(directory: str) -> list[str]:
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        names = []
    return [directory, *[os.path.join(directory, name) for name in names if name.endswith(".py")]]


def stamp(project: Project, environ: Mapping[str, str]) -> list[str]:
    """One short text for each thing that counts; equal as long as none of them changed."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return [f"session-gate {__version__} python {python}", *[_of(path) for path in config_paths(project, environ)]]


def _of(path: str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return "-"
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"
