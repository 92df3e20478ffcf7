"""A hook is answered by its main thread or by its watchdog: by one of them, and always."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gate
from gate import silent, watchdog
from gate.boundary import FINISHER_PATIENCE
from gate.clients import shell
from gate.payload import PATIENCE
from gate.sessions import TURN
from gate.suite import START
from gate.watchdog import GRACE, LIMIT, within
from gate.wiring.clients import CLIENTS

ROOT = Path(next(iter(gate.__path__))).parent
LOCK = 0.2
"""Seconds that an end waits for another one of its session."""

BEGIN = "import os, random, sys, time; sys.path.append(sys.argv[1]); from gate.watchdog import Watchdog\n"


def run(code: str) -> tuple[int, bytes]:
    """The exit code of a program, and what it prints."""
    command = [sys.executable, "-W", "default", "-I", "-S", "-c", BEGIN + code, str(ROOT)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.stderr == b""
    return done.returncode, done.stdout


@pytest.mark.parametrize("name", CLIENTS)
def test_the_limit_lies_between_what_a_start_takes_and_what_clients_wait(name: str) -> None:
    plugins = START / 2
    for _, boundary, seconds in CLIENTS[name].HOOKS:
        limit = silent._limit(CLIENTS[name], boundary)
        assert limit + GRACE + 0.5 <= seconds
        takes = PATIENCE + TURN + FINISHER_PATIENCE + plugins + START if boundary == "start" else PATIENCE + LOCK
        assert takes <= limit


def test_a_client_without_a_limit_waits_as_long_as_most() -> None:
    assert silent._limit(shell, "start") == silent._limit(shell, "end") == LIMIT


def test_who_waits_for_ever_is_answered_for() -> None:
    code = "Watchdog().watch(0.05, lambda: os.write(1, b'watchdog'))\nwhile True: time.sleep(60)"
    assert run(code) == (0, b"watchdog")


def test_an_answer_that_fails_ends_the_process_all_the_same() -> None:
    assert run("import gc\nWatchdog().watch(0.05, lambda: 1 / 0)\nwhile True: time.sleep(60)") == (0, b"")


def test_who_answers_in_time_is_left_alone() -> None:
    code = """
w = Watchdog()
w.watch(0.1, lambda: os.write(1, b"watchdog"))
w.take_word()
time.sleep(0.3)  # longer than the limit
os.write(1, b"main")
w.call_off()
time.sleep(0.3)
os._exit(7)
"""
    assert run(code) == (7, b"main")


def test_who_comes_too_late_says_nothing() -> None:
    code = """
w = Watchdog()
def answer():
    os.write(1, b"watch")
    time.sleep(0.3)
    os.write(1, b"dog")
w.watch(0.0, answer)
while w._word.acquire(False): w._word.release()
w.take_word()
os.write(1, b"main")
os._exit(7)
"""
    assert run(code) == (0, b"watchdog")


def test_while_the_word_is_taken_the_watchdog_waits() -> None:
    """For as long as standard output changes its place."""
    code = """
w = Watchdog()
w.watch(0.1, lambda: os.write(out, b"watchdog"))
w.take_word()
time.sleep(0.3)
out = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
w.give_word()
while True: time.sleep(60)
"""
    assert run(code) == (0, b"watchdog")


def test_at_the_very_moment_it_is_one_of_them() -> None:
    """A hundred processes in which both come to their answer at about the same time."""
    code = """
seen = set()
for number in range(100):
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        w = Watchdog()
        w.watch(0.004, lambda: os.write(write, b"watchdog"))
        until = time.monotonic() + random.Random(number).uniform(0.003, 0.005)
        while time.monotonic() < until: pass
        w.take_word()
        os.write(write, b"main")
        w.call_off()
        os._exit(7)
    os.close(write)
    said = b""
    while chunk := os.read(read, 100): said += chunk
    os.close(read)
    seen.add((said, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
sys.stdout.write(repr(sorted(seen)))
sys.stdout.flush()
"""
    assert run(code) in [
        (0, repr(answers).encode())
        for answers in ([(b"main", 7), (b"watchdog", 0)], [(b"main", 7)], [(b"watchdog", 0)])
    ]


def test_a_process_that_is_watched_starts_others() -> None:
    """A fork copies the thread that forks alone; newer Pythons warn of it where there are more."""
    code = """
from gate.detach import detach
w = Watchdog()
w.watch(60, lambda: os.write(1, b"watchdog"))
read, write = os.pipe()
line = [sys.executable, "-I", "-S", "-c", "import os; os.write(%d, b'started')" % write]
assert detach(line, {}, keep=[write])
os.close(write)
os.write(1, os.read(read, 100))
w.take_word()
w.call_off()
os._exit(7)
"""
    assert run(code) == (7, b"started")


def test_what_does_not_return_is_not_waited_for() -> None:
    release = threading.Event()
    try:
        assert within(0.2, [lambda: 1, release.wait, lambda: 1 / 0, lambda: 2]) == [1, None, None, 2]
    finally:
        release.set()


def test_without_threads_there_is_no_watchdog_and_no_failure(monkeypatch: object) -> None:
    code = """
import _thread
def none(*_): raise RuntimeError("can't start new thread")
_thread.start_new_thread = none
w = Watchdog()
w.watch(0.0, lambda: os.write(1, b"watchdog"))
w.take_word()
w.call_off()
print(w.why({}))
"""
    assert run(code)[1] == b"given up after 0 s; this could not be noted, so what the session leaves may pass unseen\n"
    assert watchdog.LIMIT == LIMIT
