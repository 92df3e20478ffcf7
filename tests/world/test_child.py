"""A program of which an answer is wanted: what it may take, and that it and all it started are gone afterwards."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

import pytest

from gate.world import child
from gate.world.child import ERRORS_LIMIT, MEMORY_LIMIT, TooLongError, end_group, listen, start

TIMEOUT = 60.0
LINUX = sys.platform.startswith("linux")


def answer(code: str, patience: float = TIMEOUT) -> tuple[int | None, bytes, bytes]:
    """What a Python program prints, and how it ended."""
    process = start([sys.executable, "-c", code], {})
    try:
        out, errors = listen(process, patience)
        return process.returncode, out, errors
    finally:
        finish(process)


def finish(process: subprocess.Popen[bytes]) -> None:
    end_group(process)
    process.wait(TIMEOUT)
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def test_what_it_prints_on_both_streams() -> None:
    code = "import sys; sys.stderr.write('e' * 30000); sys.stdout.write('o' * 300000); sys.exit(3)"
    assert answer(code) == (3, b"o" * 300_000, b"e" * 30_000)
    assert answer("import os; os.close(1); os.close(2)") == (0, b"", b"")
    assert answer("import sys; print(repr(sys.stdin.read()))") == (0, b"''\n", b"")


def test_errors_without_an_end_are_not_kept_and_hold_nothing_up() -> None:
    code, out, errors = answer("import sys\nfor _ in range(64): sys.stderr.write('e' * 65536)\nprint('done')")
    assert (code, out) == (0, b"done\n")
    assert ERRORS_LIMIT <= len(errors) <= ERRORS_LIMIT + (1 << 16)


@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(600)",
        "import os, time; os.close(1); os.close(2); time.sleep(600)",
        "import time\nwhile True: print('x', flush=True); time.sleep(0.001)",
    ],
    ids=["silent", "with closed streams", "talking"],
)
def test_it_is_not_listened_to_for_longer(code: str) -> None:
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        answer(code, patience=0.5)
    assert time.monotonic() - began < TIMEOUT


def test_an_answer_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "ANSWER_LIMIT", 1 << 20)
    with pytest.raises(TooLongError):
        answer("import sys\nwhile True: sys.stdout.write('x' * 65536)")
    assert answer(f"print('x' * {(1 << 20) - 1})")[1] == b"x" * ((1 << 20) - 1) + b"\n"


TAKES = f"print(len(bytearray({2 * MEMORY_LIMIT})))"
MAPS = f"""
import mmap, tempfile
with tempfile.TemporaryFile() as file:
    file.truncate({2 * MEMORY_LIMIT})
    print(len(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ)))
"""
"""As git does with a pack."""


@pytest.mark.skipif(not LINUX, reason="elsewhere no limit can be set on another process")
@pytest.mark.parametrize(("code", "is_refused"), [(TAKES, True), (MAPS, False)], ids=["of its own", "mapped to read"])
def test_memory_without_an_end(code: str, is_refused: bool) -> None:
    wait = "import resource\nwhile resource.getrlimit(resource.RLIMIT_DATA)[0] < 0: pass\n"
    status, out, errors = answer(wait + code)
    assert (status != 0, b"MemoryError" in errors) == (is_refused, is_refused), errors
    assert out == (b"" if is_refused else f"{2 * MEMORY_LIMIT}\n".encode())


def test_to_end_what_has_ended_is_nothing() -> None:
    process = start([sys.executable, "-c", ""], {})
    assert process.wait(TIMEOUT) == 0
    finish(process)
    assert process.returncode == 0


@pytest.mark.parametrize("command", [["/nowhere/program"], ["/\0"]])
def test_what_is_not_there_is_not_started(command: Sequence[str]) -> None:
    with pytest.raises((OSError, ValueError)):
        start(command, {})
