"""Writes what was planned: all of it or nothing, and over no file that is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress

from gate.errors import GateError
from gate.quote import name
from gate.scaffold.plan import File, Plan

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def refuse_existing(plan: Plan) -> None:
    """Raise GateError, which names it, where a file of the plan is there."""
    for file in plan.files:
        if os.path.lexists(file.path):
            raise GateError(
                f"{name(file.path, 1000)}: is there already and is not overwritten: take another name, or move it away"
            )


def write(plan: Plan) -> None:
    """Write the files of a plan, and the one that changes last. Raises GateError, and then nothing is left of them."""
    refuse_existing(plan)
    made: list[str] = []
    directories: list[str] = []
    try:
        for file in plan.files:
            _make_directories(os.path.dirname(file.path), directories)
            _create(file, made)
        if plan.changed is not None:
            _replace(plan.changed)
    except OSError as error:
        _take_back(made, directories)
        where = name(str(error.filename or "a file"), 1000)
        raise GateError(f"{where}: cannot be written: {error.strerror}; nothing was") from None


def _make_directories(path: str, made: list[str]) -> None:
    if path and not os.path.isdir(path):
        _make_directories(os.path.dirname(path), made)
        os.mkdir(path)
        made.append(path)


def _create(file: File, made: list[str]) -> None:
    # 0644 and not 0666: a check that others can write is not loaded, whatever the umask.
    fd = os.open(file.path, _FLAGS, 0o644)
    made.append(file.path)
    with open(fd, "w", encoding="utf-8", newline="\n") as stream:
        try:
            stream.write(file.text)
            stream.flush()
        except OSError as error:
            error.filename = file.path
            raise


def _replace(file: File) -> None:
    new = file.path + ".new"
    with open(os.open(new, _FLAGS, 0o600), "w", encoding="utf-8", newline="\n") as stream:
        stream.write(file.text)
    shutil.copymode(file.path, new)
    os.replace(new, file.path)


def _take_back(files: Sequence[str], directories: Sequence[str]) -> None:
    for path in files:
        with suppress(OSError):
            os.unlink(path)
    for path in reversed(directories):
        with suppress(OSError):
            os.rmdir(path)
