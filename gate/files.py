"""Private, atomic files: everything the gate writes goes through here.

Directories are 0700 and files 0600 whatever the umask; a file is written beside its place and renamed into it, so that
a reader finds the old text or the new and never a part. Nothing is flushed to disk: after a crash of the machine a
marker is no evidence anyway (its boot id tells), and a flush would cost every start.
"""

from __future__ import annotations

import errno
import os
import stat

from gate.directories import STATE_CURE
from gate.errors import DamagedError, StateError

try:
    import fcntl
except ImportError:  # Windows: nothing here holds a lock there, and a probe says "cannot tell"
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

READ_LIMIT = 8 << 20
"""Bytes. Nothing that the gate wrote is near it; a larger file is damaged, and is not read."""

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def make_private_dir(path: str, cure: str = STATE_CURE, follow: bool = True) -> None:
    """Create a directory that only the user can read, its parents too; refuse one that others own or can write.

    Without `follow` a symbolic link is refused too: nobody has one there on purpose, and whatever is written and
    removed in it would be so where it leads.

    Raises StateError; its text ends with `cure`, which says how another place is chosen.
    """
    try:
        _make_dirs(path)
        status = os.stat(path, follow_symlinks=follow)
    except OSError as error:
        what = f"{path}: cannot be made the gate's directory: {error.strerror}"
        raise StateError(f"{what}; make it one that you can write, or {cure}") from None
    try:
        refuse_unsafe(path, status)
    except StateError as error:
        raise StateError(f"{error}, or {cure}") from None


def _make_dirs(path: str) -> None:
    # Not os.makedirs: that makes the parents by the umask, and whoever can write a parent can put another child there.
    if not os.path.isdir(path):
        if os.path.dirname(path) != path:
            _make_dirs(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
            os.chmod(path, 0o700)  # an umask can take the user's own rights away
        except FileExistsError:
            pass


def refuse_unsafe(path: str, status: os.stat_result) -> None:
    """Raise StateError unless `status` is of a directory of this user's that nobody else can write."""
    if not stat.S_ISDIR(status.st_mode):
        raise StateError(f"{path}: is not a directory; move away what stands there")
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            raise StateError(f"{path}: belongs to another user (uid {status.st_uid}), who could change what is in it")
        if status.st_mode & 0o022:
            raise StateError(f"{path}: others can write there; take that right away with chmod go-w")


def read(path: str) -> bytes | None:
    """The whole file, None where there is none. Raises DamagedError for one that is unreadable or no file of ours."""
    try:
        fd = os.open(path, os.O_RDONLY | _NONBLOCK | _NOFOLLOW | _CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > READ_LIMIT:
            raise DamagedError(f"{path}: is not a file that the gate wrote")
        data = b""
        while chunk := os.read(fd, 1 << 20):
            data += chunk
            if len(data) > READ_LIMIT:  # it grows
                raise DamagedError(f"{path}: is not a file that the gate wrote")
        return data
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read: {error.strerror}") from None
    finally:
        os.close(fd)


def write(path: str, data: bytes, cure: str = STATE_CURE) -> None:
    """Replace a file in one step, 0600. Raises StateError, and then leaves nothing behind; `cure` as above."""
    temporary = temporary_name(path, os.getpid())
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NOFOLLOW | _CLOEXEC, 0o600)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(fd, 0o600)
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except OSError as error:
        remove(temporary)
        raise StateError(f"{path}: cannot be written: {_why(error, cure)}") from None


def append_export(path: str, name: str, value: str) -> None:
    """Append a variable, plain words both, to a file of a client's that its shell reads before every command. A failure
    loses nothing else.
    """
    if os.path.isabs(path):
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _NOFOLLOW | _NONBLOCK, 0o600)
            os.write(fd, f"export {name}={value}\n".encode("ascii"))
            os.close(fd)
        except (OSError, ValueError):
            return


def flush(path: str) -> None:
    """Make a file and its name outlast a crash of the machine, as far as the disk keeps its word. Costs milliseconds
    and more: for processes that nobody waits for.
    """
    for place in (path, os.path.dirname(path)):
        try:
            fd = os.open(place, os.O_RDONLY | _NOFOLLOW | _CLOEXEC)
        except OSError:
            continue
        try:
            os.fsync(fd)
        except OSError:
            pass
        finally:
            os.close(fd)


def _why(error: OSError, cure: str) -> str:
    """Why a file of ours could not be written: what the system says, and the cure where it is the place."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{error.strerror}; make room there"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return f"{error.strerror}; make its directory one that you can write, or {cure}"
    return error.strerror or type(error).__name__


def temporary_name(path: str, pid: int) -> str:
    """The name under which process `pid` writes what will be `path`."""
    head, tail = os.path.split(path)
    return os.path.join(head, f".{tail}.{pid}.tmp")


def sweep_temporaries(directory: str) -> None:
    """Remove temporary files whose writer was killed in the middle."""
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        if not (name.startswith(".") and name.endswith(".tmp")):
            continue
        pid = name[:-4].rpartition(".")[2]
        if pid.isascii() and pid.isdigit() and not _exists(int(pid)):
            remove(os.path.join(directory, name))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def remove(path: str) -> bool:
    """Remove one file; False where that could not be done. A missing file is done."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


class Lock:
    """An flock: it ends with the last process that holds its descriptor, so none outlives its holder (incident: an
    end hook killed before its clean-up left its lock directory for good).
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.fd = -1

    def acquire(self, timeout: float = 0.0) -> bool:
        """Take the lock for this process alone, within `timeout` seconds; False if another holds it.

        Raises StateError where the file cannot be made.
        """
        return any(self._open_and_lock() for _ in _tries(timeout))

    def _open_and_lock(self) -> bool:
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | _NOFOLLOW | _CLOEXEC, 0o600)
            if hasattr(os, "fchmod") and os.fstat(fd).st_mode & 0o777 != 0o600:
                os.fchmod(fd, 0o600)  # an umask can take the user's own rights away, and then nobody opens it again
        except OSError as error:
            raise StateError(f"{self.path}: cannot be made: {_why(error, STATE_CURE)}") from None
        if fcntl is None:
            self.fd = fd
            return True
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        except OSError as error:
            os.close(fd)
            raise StateError(f"{self.path}: cannot be locked: {error.strerror}") from None
        # The holder before us may have removed the file: a lock on a removed file keeps nobody out.
        if _is_at(fd, self.path):
            self.fd = fd
            return True
        os.close(fd)
        return self._open_and_lock()

    def release(self, unlink: bool = False) -> None:
        """Give the lock back; with `unlink` its file goes first. Without the lock nothing happens."""
        if self.fd >= 0:
            if unlink:
                remove(self.path)
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Self:
        if not self.acquire(timeout=5.0):
            raise StateError(f"{self.path}: another session-gate process has held this lock for 5 s")
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_held(path: str) -> bool:
    """Whether a living process holds the lock at `path`. A missing file is not held."""
    if fcntl is None:
        return False
    try:
        fd = os.open(path, os.O_RDONLY | _NONBLOCK | _NOFOLLOW | _CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.fstat(fd).st_ino == os.stat(path).st_ino
    except OSError:
        return False


def _tries(timeout: float) -> Iterator[None]:
    import time

    deadline = time.monotonic() + timeout
    yield
    while time.monotonic() < deadline:
        time.sleep(0.01)
        yield
