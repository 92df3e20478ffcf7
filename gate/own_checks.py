"""The user's own checks: Python files in one directory, each a plugin.

They run unasked wherever a session starts, so nobody else may be able to write them: whoever could would run as the
user. They are read and executed here, not by Python's import: its cache would change the directory, which makes the
next start check everything again, and a file called like a module of the standard library must not stand for it.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import stat
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType

from gate.soundness import RefusedError, told

PREFIX = "gate_user_checks."
PROJECT_PREFIX = "gate_project_checks."
"""Begin the names of their modules, the user's and a project's."""

_LONGEST = 1 << 20
"""Bytes of a file; a check has some 2,000."""


def find_files(directory: str) -> tuple[Sequence[str], str]:
    """The paths of all plugins in a directory, sorted, and why it cannot be used (else empty). A missing one has none.

    Tests lie beside their checks (`test_*.py`); what begins with `_` or `.` is no plugin either.
    """
    try:
        status = os.stat(directory)
        if not stat.S_ISDIR(status.st_mode):
            return [], "is not a directory; move away what stands there"
        if fault := _fault(directory, status):
            return [], fault
        names = sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return [], "leads to nothing: mend the link or remove it" if os.path.islink(directory) else ""
    except OSError as error:
        return [], f"cannot be read: {error.strerror}; give yourself the right to with chmod u+rwx"
    chosen = [name for name in names if name.endswith(".py") and name[0] not in "_." and not name.startswith("test_")]
    return [os.path.join(directory, name) for name in chosen], ""


def load_file(path: str) -> ModuleType:
    """The module of one file. Raises RefusedError, and SystemExit and KeyboardInterrupt where it does."""
    return load_source(path, _read(path), PREFIX)


def load_source(path: str, source: bytes, prefix: str) -> ModuleType:
    """The module that this source of the file at `path` is; `prefix` begins its name. Raises what `load_file` does."""
    name = prefix + os.path.basename(path).removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise RefusedError("cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and typing look for a class's module there
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102
    except BaseException as error:
        sys.modules.pop(name, None)
        if isinstance(error, Exception):
            raise RefusedError(told(error) + _where(error, path)) from None
        raise
    return module


def _where(error: Exception, path: str) -> str:
    """The line of the file that raised; a SyntaxError's own text has it."""
    if isinstance(error, SyntaxError):
        return ""
    # Not `extract_tb`: that reads the file again, which may be another thing by now.
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == path]
    return f" (line {lines[-1]})" if lines else ""


def _read(path: str) -> bytes:
    """A file of the user's that nobody else can write, nor replace where it is a link's target."""
    try:
        real = os.path.realpath(path, strict=True)
        fd = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        try:
            _refuse(path, real, os.fstat(fd))
            with open(fd, "rb", closefd=False) as file:
                return file.read(_LONGEST)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP) and os.path.islink(path):
            raise RefusedError("leads to nothing: mend the link or remove it") from None
        raise RefusedError(f"cannot be read: {error.strerror}") from None


def _refuse(path: str, real: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST:
        raise RefusedError(f"is no file that could be a check (of {_LONGEST >> 20} MiB at most)")
    linked = os.path.islink(path)
    above = os.path.dirname(real)
    fault = _fault(real, status) or (_fault(above, os.stat(above)) if linked else "")
    if fault:
        raise RefusedError(f"is a link to {real}: {fault}" if linked else fault)


def _fault(path: str, status: os.stat_result) -> str:
    """Why others could change what is there. What root owns (a package, a store that is read-only) root may change."""
    if not hasattr(os, "getuid"):
        return ""
    if status.st_uid not in (os.getuid(), 0):
        return f"{path} belongs to another user (uid {status.st_uid}), who could change it: make it your own"
    if status.st_mode & 0o022:
        return f"others can write there; take that right away with chmod go-w {path}"
    return ""
