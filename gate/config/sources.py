"""The files that a project's configuration comes from: the user's, then the project's."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gate import directories
from gate.config.tomlfile import UnusableError, read_head, read_table
from gate.errors import StateError
from gate.project import Project
from gate.quote import line, name


class Problem(NamedTuple):
    """Something wrong: in which file, under which key (empty: the file as a whole), and what was expected there."""

    file: str
    key: str
    text: str

    def __str__(self) -> str:
        parts = (name(self.file, 300), self.key and name(self.key), self.text)
        return line(": ".join(part for part in parts if part))


class Source(NamedTuple):
    """One file's table. `of_project` says that it is the project's, other people's text."""

    file: str
    table: Mapping[str, Any]
    of_project: bool


def read_sources(project: Project, environ: Mapping[str, str]) -> tuple[list[Source], list[Problem]]:
    """What there is, the user's file first, and what could not be read. Never raises."""
    sources: list[Source] = []
    problems: list[Problem] = []
    readers: list[Callable[[], Source | None]] = [lambda: _user_source(environ), lambda: _project_source(project.root)]
    for read in readers:
        try:
            source = read()
        except _ProblemError as error:
            problems.append(error.problem)
        else:
            sources += [source] if source is not None else []
    return sources, problems


def files(project: Project, environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Every file that could say something here, the user's first, and in words what became of it."""
    sources, problems = read_sources(project, environ)
    read, wrong = {source.file for source in sources}, {problem.file for problem in problems}
    own, shared = (os.path.join(project.root, name) for name in (".gate.toml", "pyproject.toml"))
    try:
        paths = [directories.config_file(environ), own, shared]
    except StateError:
        paths = [own, shared]
    found = []
    for path in paths:
        fate = "read" if path in read else "wrong" if path in wrong else "not there"
        if fate == "not there" and os.path.lexists(path):
            fate = "not read: .gate.toml is there" if os.path.lexists(own) else "has no [tool.session-gate]"
        found.append((path, fate))
    return found


class _ProblemError(Exception):
    def __init__(self, file: str, text: str, key: str = "") -> None:
        super().__init__(text)
        self.problem = Problem(file, key, text)


def _user_source(environ: Mapping[str, str]) -> Source | None:
    try:
        path = directories.config_file(environ)
    except StateError as error:
        raise _ProblemError("config.toml", str(error)) from None
    return Source(path, _table(path), of_project=False) if os.path.lexists(path) else None


def _project_source(root: str) -> Source | None:
    """`.gate.toml`, else `[tool.session-gate]`; of a pyproject.toml without that table nothing is said."""
    path = os.path.join(root, ".gate.toml")
    if os.path.lexists(path):
        _refuse_outside(path, root)
        return Source(path, _table(path), of_project=True)
    path = os.path.join(root, "pyproject.toml")
    if not os.path.isfile(path) or not _speaks_of_us(path):
        return None
    try:
        tool = _table(path).get("tool")
    except _ProblemError:
        _refuse_outside(path, root)  # of what lies elsewhere nothing is shown
        raise
    if not isinstance(tool, dict) or "session-gate" not in tool:
        return None
    _refuse_outside(path, root)
    if not isinstance(tool["session-gate"], dict):
        raise _ProblemError(path, "expected a table", "tool.session-gate")
    return Source(path, tool["session-gate"], of_project=True)


def _speaks_of_us(path: str) -> bool:
    try:
        return b"session-gate" in read_head(path)
    except UnusableError as error:
        raise _ProblemError(path, str(error)) from None


def _table(path: str) -> dict[str, Any]:
    try:
        return read_table(path)
    except UnusableError as error:
        raise _ProblemError(path, str(error)) from None


def _refuse_outside(path: str, root: str) -> None:
    if not is_inside(os.path.realpath(path), root):
        raise _ProblemError(path, "is a symbolic link that leads out of the project, and is not followed")


def is_inside(path: str, directory: str) -> bool:
    """Whether a real path lies in a real directory, or is that."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
