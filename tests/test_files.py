from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from kit import TIMEOUT, child, python

from gate import files
from gate.errors import DamagedError, StateError

OLD, NEW = b"old " * 50_000, b"new " * 70_000

STOPPED_WRITER = """
import os, sys
from gate import files
step, path = sys.argv[1:]
real = getattr(os, step)

def stop(*arguments):
    if step == "write":
        real(arguments[0], arguments[1][: len(arguments[1]) // 2])
    if step == "close" and os.fstat(arguments[0]).st_size == 0:
        return real(*arguments)
    print("in the middle", flush=True)
    sys.stdin.read()

setattr(os, step, stop)
files.write(path, b"new " * 70_000)
"""

HOLDER = """
import sys
from gate.files import Lock
lock = Lock(sys.argv[1])
print(lock.acquire(), flush=True)
sys.stdin.readline()
lock.release(unlink=sys.argv[2] == "unlink")
print("released", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


@pytest.fixture
def here(tmp_path: Path) -> Path:
    path = tmp_path / "here"
    path.mkdir()
    return path


@pytest.fixture
def umask() -> Any:
    before = os.umask(0)
    yield os.umask
    os.umask(before)


def test_what_is_written_is_read(here: Path) -> None:
    path = here / "file"
    for data in (b"", b"one", os.urandom(3 << 20)):
        files.write(str(path), data)
        assert files.read(str(path)) == data
    assert os.listdir(here) == ["file"]


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_files_and_directories_are_private_whatever_the_umask(here: Path, umask: Any, mask: int) -> None:
    umask(mask)
    files.make_private_dir(str(here / "a" / "b" / "c"))
    files.write(str(here / "a" / "b" / "c" / "file"), b"text")
    assert [mode(here / name) for name in ("a", "a/b", "a/b/c", "a/b/c/file")] == [0o700, 0o700, 0o700, 0o600]


def test_a_rewritten_file_becomes_private(here: Path) -> None:
    path = here / "file"
    path.write_text("old")
    path.chmod(0o666)
    files.write(str(path), b"new")
    assert (mode(path), path.read_text()) == (0o600, "new")


def test_a_symbolic_link_is_replaced_and_not_followed(here: Path) -> None:
    (here / "other").write_text("other")
    (here / "file").symlink_to("other")
    files.write(str(here / "file"), b"new")
    assert (here / "other").read_text() == "other"
    assert not (here / "file").is_symlink()


@pytest.mark.parametrize("step", ["write", "close", "replace"])
def test_a_writer_killed_in_the_middle_leaves_the_old_file_whole(here: Path, step: str) -> None:
    path = here / "file"
    files.write(str(path), OLD)
    with child(*python(STOPPED_WRITER, step, path)) as writer:
        assert path.read_bytes() == OLD
        assert len(os.listdir(here)) == 2
        files.sweep_temporaries(str(here))
        assert len(os.listdir(here)) == 2, "a living writer's file was taken away"
        writer.kill()
        writer.wait(TIMEOUT)
    assert files.read(str(path)) == OLD
    files.sweep_temporaries(str(here))
    assert os.listdir(here) == ["file"]


def test_a_reader_never_meets_a_part(here: Path) -> None:
    path, seen = str(here / "file"), set()
    files.write(path, OLD)
    done = threading.Event()

    def write() -> None:
        for _ in range(50):
            files.write(path, NEW)
            files.write(path, OLD)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        seen.add(files.read(path))
    writer.join()
    assert seen <= {OLD, NEW}


FULL_DISK = """
import errno, os, resource, signal, sys
from gate import files
from gate.errors import StateError
path = sys.argv[1]
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
files.write(path, b"old")
for size in (100_001, 5_000_000):
    try:
        files.write(path, bytes(size))
    except StateError as error:
        print(error)
assert files.read(path) == b"old"
assert os.listdir(os.path.dirname(path)) == ["file"], os.listdir(os.path.dirname(path))
os.replace(path, path + ".retired")  # what the gate does when it cannot write
"""


def test_a_file_that_may_not_grow_leaves_the_old_one_and_nothing_else(here: Path) -> None:
    done = subprocess.run(python(FULL_DISK, here / "file", "limit"), capture_output=True, check=True, text=True)
    assert done.stdout.splitlines() == [f"{here}/file: cannot be written: File too large"] * 2


def test_a_full_disk_leaves_the_old_file_and_nothing_else(here: Path) -> None:
    unshare = shutil.which("unshare")
    mount = 'mount -t tmpfs -o size=64k tmpfs "$1" || exit 77; shift; exec "$@"'
    command: list[str | Path] = [unshare or "unshare", "--mount", "sh", "-c", mount, "sh", here]
    if unshare is None or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("may not mount a file system")
    full = [*command, *python(FULL_DISK, here / "file", "tmpfs")]
    done = subprocess.run(full, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    full_disk = f"{here}/file: cannot be written: No space left on device; make room there"
    assert done.stdout.splitlines() == [full_disk] * 2


@pytest.mark.parametrize(
    ("place", "cure"),
    [
        ("missing/file", ""),
        ("directory", ""),
        ("file/below", "; make its directory .*, or set SESSION_GATE_STATE_DIR .*"),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(here: Path, place: str, cure: str) -> None:
    (here / "directory").mkdir()
    (here / "file").write_text("")
    with pytest.raises(StateError, match=rf"^{here}/{place}: cannot be written: [A-Z][a-z ]+{cure}$"):
        files.write(str(here / place), b"text")
    assert sorted(os.listdir(here)) == ["directory", "file"]
    assert os.listdir(here / "directory") == []


def test_a_missing_file_is_nothing_and_other_things_are_damaged(here: Path) -> None:
    (here / "directory").mkdir()
    (here / "file").write_text("text")
    (here / "link").symlink_to("file")
    (here / "nowhere").symlink_to("missing")
    os.mkfifo(here / "fifo")
    with (here / "huge").open("wb") as huge:
        huge.truncate(files.READ_LIMIT + 1)
    assert files.read(str(here / "missing")) is None
    for name in ("directory", "link", "nowhere", "fifo", "huge", "file/below"):
        with pytest.raises(DamagedError, match=str(here / name)):
            files.read(str(here / name))


def test_the_largest_file_that_is_read(here: Path) -> None:
    with (here / "large").open("wb") as large:
        large.truncate(files.READ_LIMIT)
    assert files.read(str(here / "large")) == bytes(files.READ_LIMIT)


def test_no_descriptor_is_left_open(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(here / "file")
    before = os.listdir("/dev/fd")
    files.write(path, b"text")
    files.read(path)
    with pytest.raises(DamagedError):
        files.read(str(here))
    with pytest.raises(StateError):
        files.write(str(here), b"")
    with files.Lock(path):
        assert not files.Lock(path).acquire()
        assert files.is_held(path)
    assert not files.is_held(path)
    monkeypatch.setattr(fcntl, "flock", out_of_locks)
    with pytest.raises(StateError):
        files.Lock(path).acquire()
    assert os.listdir("/dev/fd") == before


def out_of_locks(fd: int, operation: int) -> None:
    raise OSError(errno.ENOLCK, "No locks available")


def test_a_state_directory_may_be_a_link_to_a_good_one(here: Path) -> None:
    (here / "good").mkdir(mode=0o755)
    (here / "link").symlink_to("good")
    files.make_private_dir(str(here / "link"))
    files.make_private_dir(str(here / "link" / "below"))
    assert mode(here / "good" / "below") == 0o700


@pytest.mark.parametrize("bits", [0o770, 0o720, 0o702, 0o777, 0o1777])
def test_a_directory_that_others_can_write_is_refused(here: Path, bits: int) -> None:
    path = here / "open"
    path.mkdir()
    path.chmod(bits)
    with pytest.raises(StateError, match="others can write there; take that right away with chmod go-w"):
        files.make_private_dir(str(path))


def test_another_users_directory_is_refused() -> None:
    status = os.stat_result((0o40700, 1, 1, 2, os.getuid() + 1, 0, 0, 0, 0, 0))
    with pytest.raises(StateError, match=rf"^/x: belongs to another user \(uid {os.getuid() + 1}\)"):
        files.refuse_unsafe("/x", status)


def test_what_is_no_directory_is_refused(here: Path) -> None:
    (here / "file").write_text("")
    (here / "nowhere").symlink_to("missing")
    with pytest.raises(StateError, match=r"file: is not a directory; .*, or set SESSION_GATE_STATE_DIR to a directory"):
        files.make_private_dir(str(here / "file"))
    for name in ("nowhere", "file/below/it"):
        with pytest.raises(StateError, match=f"{name}: cannot be made the gate's directory: .*SESSION_GATE_STATE_DIR"):
            files.make_private_dir(str(here / name))


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR])
def test_a_place_that_cannot_be_used_names_the_variables_that_choose_it(
    here: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(path: str, mode: int = 0o777) -> None:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(StateError) as raised:
        files.make_private_dir(str(here / "state"))
    text = str(raised.value)
    assert text.startswith(f"{here}/state: cannot be made the gate's directory: {os.strerror(number)}; ")
    for word in ("SESSION_GATE_STATE_DIR", "XDG_STATE_HOME", "HOME"):
        assert word in text
    with pytest.raises(StateError, match=r"; make it one that you can write, or name another$"):
        files.make_private_dir(str(here / "state"), "name another")


def test_only_dead_writers_files_are_swept(here: Path) -> None:
    with child("echo", "x") as dead:
        dead.wait(TIMEOUT)
    swept = f".marker.json.{dead.pid}.tmp"
    kept = [f".marker.json.{os.getpid()}.tmp", ".marker.json.1.tmp", ".x.0.tmp", f".x.{10**30}.tmp", ".x.-5.tmp",
            ".x..tmp", ".tmp", f"x.{dead.pid}.tmp", f".x.{dead.pid}", "marker.json", f".x.{dead.pid}٣.tmp"]  # fmt: skip
    for name in (swept, *kept):
        (here / name).write_text("")
    (here / f".directory.{dead.pid}.tmp").mkdir()
    files.sweep_temporaries(str(here))
    assert sorted(os.listdir(here)) == sorted([*kept, f".directory.{dead.pid}.tmp"])
    files.sweep_temporaries(str(here / "missing"))


def test_removing_is_done_when_the_thing_is_not_there(here: Path) -> None:
    (here / "file").write_text("")
    assert files.remove(str(here / "file"))
    assert files.remove(str(here / "file"))
    assert not files.remove(str(here))


def test_a_lock_keeps_another_process_out_until_it_is_given_back(here: Path) -> None:
    path = str(here / "lock")
    assert not files.is_held(path)
    with child(*python(HOLDER, path, "keep")) as holder:
        assert files.is_held(path)
        assert not files.Lock(path).acquire()
        assert not files.Lock(path).acquire(timeout=0.05)
        holder.communicate(b"go\n", TIMEOUT)
    assert not files.is_held(path)
    assert mode(here / "lock") == 0o600
    with files.Lock(path) as lock:
        assert files.is_held(path)
        assert not files.Lock(path).acquire(), "in one process too"
    assert lock.fd == -1
    assert not files.is_held(path)
    assert os.path.exists(path), "it is not in the way of the next"


def test_waiting_for_a_lock_ends_when_its_holder_dies(here: Path) -> None:
    path = str(here / "lock")
    with child(*python(HOLDER, path, "keep")) as holder:
        lock = files.Lock(path)
        waiting = threading.Thread(target=lock.acquire, kwargs={"timeout": TIMEOUT})
        waiting.start()
        assert lock.fd == -1
        holder.send_signal(signal.SIGKILL)
        waiting.join(TIMEOUT)
        assert lock.fd >= 0
        lock.release()


def test_a_lock_lives_as_long_as_the_last_process_that_holds_it(here: Path) -> None:
    path = str(here / "lock")
    code = """
import os, subprocess, sys
from gate.files import Lock
lock = Lock(sys.argv[1])
assert lock.acquire()
subprocess.Popen(["cat"], pass_fds=[lock.fd], stdout=subprocess.DEVNULL)
print("handed on", flush=True)
os.kill(os.getpid(), 9)
"""
    with subprocess.Popen(python(code, path), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"handed on\n"
        first.wait(TIMEOUT)
        assert files.is_held(path), "cat holds it still"
    lock = files.Lock(path)  # cat's input is at an end now, so it goes
    assert lock.acquire(timeout=TIMEOUT)
    lock.release()


def test_locks_that_are_removed_keep_each_other_out_still(here: Path) -> None:
    code = """
import sys
from gate.files import Lock
path, counter = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for _ in range(300):
    lock = Lock(path)
    assert lock.acquire(timeout=60)
    with open(counter, "r+") as file:
        count = int(file.read())
        file.seek(0)
        file.write(str(count + 1))
    lock.release(unlink=True)
"""
    (here / "counter").write_text("0")
    command = python(code, here / "lock", here / "counter")
    with child(*command) as one, child(*command) as two, child(*command) as three:
        for process in (one, two, three):
            assert process.stdin is not None
            process.stdin.write(b"go\n")
            process.stdin.flush()
        assert [process.wait(TIMEOUT) for process in (one, two, three)] == [0, 0, 0]
    assert (here / "counter").read_text() == "900"
    assert not (here / "lock").exists()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_whose_file_was_just_removed_is_taken_again(
    here: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    path, real = here / "lock", fcntl.flock
    keep: list[int] = []

    def remove_first(fd: int, operation: int) -> None:
        real(fd, operation)
        if not keep:
            keep.append(os.dup(fd))  # else the next file could have the same inode number
            path.unlink()
            if replaced:
                path.touch()

    monkeypatch.setattr(fcntl, "flock", remove_first)
    lock = files.Lock(str(path))
    assert lock.acquire(), "nobody holds it"
    assert os.fstat(lock.fd).st_ino == path.stat().st_ino
    lock.release()
    os.close(keep[0])


def test_what_cannot_be_locked_is_not_called_held(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", out_of_locks)
    with pytest.raises(StateError, match=r"lock: cannot be locked: No locks available$"):
        files.Lock(str(here / "lock")).acquire()
    with pytest.raises(StateError, match=r"lock: cannot be made: No such file or directory$"):
        files.Lock(str(here / "missing" / "lock")).acquire()


def test_giving_back_what_one_does_not_hold_takes_nothing_from_its_holder(here: Path) -> None:
    path = here / "lock"
    with files.Lock(str(path)):
        other = files.Lock(str(path))
        assert not other.acquire()
        other.release(unlink=True)
        assert path.exists()
        assert not other.acquire()


def test_a_link_in_the_place_of_a_lock_is_not_followed(here: Path) -> None:
    (here / "lock").symlink_to("elsewhere")
    with pytest.raises(StateError):
        files.Lock(str(here / "lock")).acquire()
    assert not files.is_held(str(here / "lock"))
    assert not (here / "elsewhere").exists()


def test_a_fifo_in_a_locks_place_is_not_waited_for(here: Path) -> None:
    os.mkfifo(here / "lock")
    assert not files.is_held(str(here / "lock"))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there its files say nothing of their size")
def test_a_file_that_says_nothing_of_its_size_is_read_to_the_limit(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(Path("/proc/self/maps").read_bytes())
    assert files.read("/proc/self/maps")
    monkeypatch.setattr(files, "READ_LIMIT", size // 2)
    with pytest.raises(DamagedError, match="is not a file that the gate wrote"):
        files.read("/proc/self/maps")
