from __future__ import annotations

import functools
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from kit import TIMEOUT, child

from gate.clock import Clock
from gate.errors import UnknownError
from gate.liveness import running_below
from gate.testing import FakeProcessTable
from gate.world import processes, psutil_view
from gate.world.processes import Process, ProcessTable, _from_proc

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
WAIT = "echo; read -r _"


def script(path: Path) -> Path:
    """A program of that name, which waits to be told to end."""
    path.write_text(f"#!/bin/sh\n{WAIT}\n")
    path.chmod(0o755)
    return path


def become_zombie(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def test_the_snapshot_is_what_psutil_says() -> None:
    with child("sh", "-c", WAIT) as process, child("sh", "-c", WAIT) as zombie:
        become_zombie(zombie)
        table = ProcessTable()
        assert len({one.pid for one in table}) == len(list(table))
        for pid in (os.getpid(), os.getppid(), process.pid, zombie.pid):
            found, expected = table.get(pid), psutil.Process(pid)
            assert found is not None
            assert (found.pid, found.ppid, found.name) == (pid, expected.ppid(), expected.name()[:15])
            assert abs(found.started - expected.create_time()) < 0.02
        states = {pid: found.state for pid in (process.pid, zombie.pid) if (found := table.get(pid))}
        assert states[zombie.pid] == "Z"
        assert states[process.pid] in ("S", "R")


@linux
def test_both_ways_of_reading_see_the_same_processes() -> None:
    with child("sh", "-c", WAIT) as process, child("sh", "-c", WAIT) as zombie:
        become_zombie(zombie)
        by_proc = {one.pid: one for one in _from_proc("/proc")}
        by_psutil = {one.pid: one for one in psutil_view.list_processes()}
        for pid in (os.getpid(), process.pid, zombie.pid):
            one, other = by_proc[pid], by_psutil[pid]
            assert (one.ppid, one.name, one.state == "Z") == (other.ppid, other.name[:15], other.state == "Z")
            assert abs(one.started - other.started) < 0.02


@linux
def test_both_ways_of_asking_get_the_same_answers(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "called (deleted)").mkdir()
    for directory in ("gone", "called (deleted)"):
        with child("sh", "-c", WAIT, "a b", "", cwd=tmp_path / directory, env={"A": "b=c", "B": ""}) as process:
            if directory == "gone":
                (tmp_path / directory).rmdir()
            table = ProcessTable()
            assert table.directory(process.pid) == str(tmp_path / directory)
            assert table.arguments(process.pid) == psutil_view.ask(process.pid, "cmdline")
            assert table.directory(process.pid) == psutil_view.ask(process.pid, "cwd")
            assert table.environ(process.pid) == psutil_view.ask(process.pid, "environ")


def test_the_table_is_read_once() -> None:
    table = ProcessTable()
    before = list(table)
    with child("sh", "-c", WAIT) as process:
        assert list(table) == before
        assert table.get(process.pid) is None
        assert ProcessTable().get(process.pid) is not None


@linux
def test_a_key_is_a_processs_own_and_does_not_move_with_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    with child("sh", "-c", WAIT) as process:
        before = ProcessTable().get(process.pid)
        boot_time = processes._boot_time("/proc")
        assert boot_time == psutil.boot_time()
        monkeypatch.setattr(processes, "_boot_time", lambda _: boot_time + 1)  # it is rounded, and the clock is set
        after = ProcessTable().get(process.pid)
        assert before is not None
        assert after is not None
        assert after.started == pytest.approx(before.started + 1)
        assert after.key == before.key
    assert Process(7, 1, "a", "S", 100.0, 5).key != Process(7, 1, "a", "S", 100.0, 6).key
    assert Process(7, 1, "a", "S", 100.0).key != Process(7, 1, "a", "S", 100.5).key
    assert Process(7, 1, "a", "S", 100.0).key != Process(8, 1, "a", "S", 100.0).key


@linux
def test_a_table_that_hides_the_asker_is_unknown_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "stat").write_bytes(Path("/proc/1/stat").read_bytes())
    (tmp_path / "2").mkdir()
    (tmp_path / "self").mkdir()
    (tmp_path / "stat").write_text("cpu  1 2\nbtime 1796000000\n")
    with pytest.raises(UnknownError, match="hides the process table"):
        list(_from_proc(str(tmp_path)))
    with pytest.raises(UnknownError, match=r"missing cannot be read: No such file or directory$"):
        list(_from_proc(str(tmp_path / "missing")))
    (tmp_path / "stat").write_text("cpu  1 2\n")
    with pytest.raises(UnknownError, match=r"stat does not say when the machine started$"):
        list(_from_proc(str(tmp_path)))


def test_programs_by_name(tmp_path: Path) -> None:
    with (
        child(script(tmp_path / "recorder")) as short,
        child(script(tmp_path / "a-recorder-with-a-long-name")) as long,
        child("sh", "-c", WAIT, "recorder", "recorder") as other,
        child(script(tmp_path / "recorder")) as zombie,
    ):
        become_zombie(zombie)
        named = ProcessTable().named({"recorder", "a-recorder-with-a-long-name"})
        pids = {process.pid for process in named}
        assert {short.pid, long.pid} <= pids
        assert not {other.pid, zombie.pid} & pids


def test_what_one_process_can_be_asked(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "CLAUDE_CODE_SESSION_ID": "session-1"}
    with child("sh", "-c", WAIT, "two words", "", "é\n", cwd=tmp_path, env=environ) as process:
        table = ProcessTable()
        list(table)
        assert table.arguments(process.pid) == ["sh", "-c", WAIT, "two words", "", "é\n"]
        assert table.directory(process.pid) == str(tmp_path.resolve())
        assert table.tag(process.pid) == "session-1"
        assert table.exists(process.pid)
    assert table.get(process.pid) is not None, "it is in the snapshot still"
    assert table.arguments(process.pid) is None
    assert table.directory(process.pid) is None
    assert table.tag(process.pid) is None
    assert not table.exists(process.pid)


@linux
def test_the_directory_of_a_process_can_be_gone(tmp_path: Path) -> None:
    gone = tmp_path / "work (deleted)"
    gone.mkdir()
    with child("sh", "-c", WAIT, cwd=gone) as process:
        assert ProcessTable().directory(process.pid) == str(gone)
        gone.rmdir()
        assert str(ProcessTable().directory(process.pid)).startswith(str(gone))


def test_the_gates_own_tag_comes_first_and_an_empty_one_is_none() -> None:
    environ = {"PATH": os.environ["PATH"]}
    tags = {"CODEX_THREAD_ID": "thread", "SESSION_GATE_SESSION": "mine", "CLAUDE_CODE_SESSION_ID": ""}
    with child("sh", "-c", WAIT, env=environ | tags) as tagged, child("sh", "-c", WAIT, env=environ) as plain:
        table = ProcessTable()
        assert table.tag(tagged.pid) == "mine"
        assert table.tag(plain.pid) is None


def test_a_zombie_says_nothing() -> None:
    with child("sh", "-c", WAIT) as process:
        become_zombie(process)
        table = ProcessTable()
        assert not table.exists(process.pid)
        assert not table.arguments(process.pid)
        assert table.tag(process.pid) is None


def test_a_process_that_comes_after_the_snapshot_exists() -> None:
    table = ProcessTable()
    list(table)
    with child("sh", "-c", WAIT) as process:
        assert table.get(process.pid) is None
        assert table.exists(process.pid)
    assert not table.exists(2**31 - 1)
    assert not table.exists(10**30)


def test_what_may_not_be_inspected_is_unknown_and_has_no_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(process: psutil.Process) -> None:
        raise psutil.AccessDenied(process.pid)

    def forbid(path: str, mode: str = "") -> None:
        raise PermissionError(13, "Permission denied")

    table, pid = ProcessTable(), os.getpid()
    questions = ("cmdline", "cwd", "environ")
    for question in questions:
        monkeypatch.setattr(psutil.Process, question, deny)
    monkeypatch.setattr(processes, "open", forbid, raising=False)
    monkeypatch.setattr(os, "readlink", forbid)
    asked = [functools.partial(psutil_view.ask, question=question) for question in questions]
    for ask in (table.arguments, table.directory, table.environ, *asked):
        with pytest.raises(UnknownError, match=rf"^process {pid} may not be inspected \(.+\)$"):
            ask(pid)
    assert table.tag(pid) is None


def test_those_who_have_a_file_open(tmp_path: Path) -> None:
    lock, other = tmp_path / "lock", tmp_path / "other"
    lock.touch()
    other.touch()
    (tmp_path / "link").hardlink_to(lock)
    (tmp_path / "symlink").symlink_to(lock)
    with (
        child("sh", "-c", f'exec 9< "$1"; {WAIT}', "sh", lock) as reader,
        child("sh", "-c", f'exec 9>> "$1"; {WAIT}', "sh", tmp_path / "link") as writer,
        child("sh", "-c", f'exec 9< "$1"; {WAIT}', "sh", other) as elsewhere,
        child("sh", "-c", WAIT, "sh", lock) as mentions,
    ):
        holders = set(ProcessTable().holders(str(lock)))
        assert {reader.pid, writer.pid} <= holders
        assert not {elsewhere.pid, mentions.pid} & holders
        assert set(ProcessTable().holders(str(tmp_path / "symlink"))) == holders
        lock.unlink()
        assert ProcessTable().holders(str(lock)) == []
        lock.touch()
        assert ProcessTable().holders(str(lock)) == [], "it is another file by now"
    with lock.open():
        assert os.getpid() in ProcessTable().holders(str(lock))


def test_what_is_open_is_read_once_for_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for each of 300 locks anew, it took all the time that there was."""
    lock = tmp_path / "lock"
    lock.touch()
    table, asked = ProcessTable(), []
    open_by = processes._open_by
    monkeypatch.setattr(processes, "_open_by", lambda pid: asked.append(pid) or open_by(pid))
    with lock.open():
        for _ in range(3):
            assert os.getpid() in table.holders(str(lock))
    assert table.holders(str(tmp_path / "nothing")) == []
    assert len(asked) == len(set(asked)) == len(list(table))


def test_nobody_is_hurt_by_being_looked_at(tmp_path: Path) -> None:
    """A stopped process cannot answer; looking at it does not wait, wake or end it."""
    with child("sh", "-c", WAIT) as process:
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        table = ProcessTable()
        found = table.get(process.pid)
        assert found is not None
        assert found.state in ("T", "R")
        assert table.arguments(process.pid)
        assert table.holders(str(tmp_path)) == []
        process.send_signal(signal.SIGCONT)
        process.communicate(b"\n", TIMEOUT)
        assert process.returncode == 0


def test_a_made_up_table_answers_as_a_real_one(tmp_path: Path) -> None:
    table = FakeProcessTable(Clock(now=1000.0, boot="b"))
    shell = table.add(
        "bash", "-l", age=100, directory="/w", environ={"CODEX_THREAD_ID": "t"}, holds=[tmp_path / "lock"]
    )
    recorder = table.add("a-recorder-with-a-long-name", pid=77, ppid=shell.pid, state="Z")
    hidden = table.add("sshd", hidden=True)
    assert [process.pid for process in table] == [shell.pid, 77, hidden.pid]
    assert (shell.started, recorder.name, recorder.state) == (900.0, "a-recorder-with", "Z")
    assert table.get(77) == recorder
    assert table.get(78) is None or hidden.pid == 78
    assert table.named({"bash", "a-recorder-with-a-long-name"}) == [shell], "a zombie records nothing"
    assert (table.arguments(shell.pid), table.directory(shell.pid), table.tag(shell.pid)) == (["bash", "-l"], "/w", "t")
    assert table.holders(str(tmp_path / "lock")) == [shell.pid]
    with pytest.raises(UnknownError):
        table.arguments(hidden.pid)
    assert table.tag(hidden.pid) is None
    assert table.exists(shell.pid)
    table.vanish(shell)
    assert table.get(shell.pid) == shell
    assert (table.arguments(shell.pid), table.directory(shell.pid), table.tag(shell.pid)) == (None, None, None)
    assert table.holders(str(tmp_path / "lock")) == []
    assert not table.exists(shell.pid)


def test_what_a_process_takes_is_told(tmp_path: Path) -> None:
    code = (
        "import socket, time\n"
        "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
        "end = time.process_time() + 0.1\n"
        "while time.process_time() < end: pass\n"
        "print(flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        process.stdout.readline()
        table = ProcessTable()
        assert table.ports(process.pid) == [port]
        by_psutil = {one.pid: one for one in psutil_view.list_processes()}[process.pid]
        for found in (table.get(process.pid), by_psutil):
            assert found is not None
            assert found.seconds >= 0.1
            assert found.memory > 1 << 20
            assert (found.group, found.session) == (os.getpgid(process.pid), os.getsid(process.pid))
        process.kill()
    assert table.ports(process.pid) == []


@linux
def test_a_deleted_directory_is_told_from_one_that_is_called_so(tmp_path: Path) -> None:
    """By its link count (jikig-ai/soleur#7537)."""
    gone, there = tmp_path / "gone", tmp_path / "work (deleted)"
    gone.mkdir()
    there.mkdir()
    with child("sh", "-c", WAIT, cwd=gone) as one, child("sh", "-c", WAIT, cwd=there) as other:
        gone.rmdir()
        table = ProcessTable()
        assert (table.directory_is_gone(one.pid), table.directory_is_gone(other.pid)) == (True, False)
        assert table.directory(one.pid) == str(gone)
    assert not table.directory_is_gone(one.pid)


@linux
def test_what_outlives_its_terminal_is_told(tmp_path: Path) -> None:
    (tmp_path / "ready").touch()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("sh", ["sh", "-c", "trap '' HUP; echo ready; exec sleep 600"])
    try:
        assert b"ready" in os.read(terminal, 100)
        first = ProcessTable()
        found = first.get(pid)
        assert found is not None
        assert found.terminal
        assert not first.has_lost_its_terminal(pid)
        os.close(terminal)
        second = ProcessTable()
        found = second.get(pid)
        assert found is not None
        assert not found.terminal
        assert second.has_lost_its_terminal(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@linux
def test_what_runs_below_a_process_is_listed(tmp_path: Path) -> None:
    (tmp_path / "line").write_text("\n")
    with child("sh", "-c", f"sh -c 'tail -f {tmp_path}/line & wait' & wait") as process:
        below = running_below(process.pid)
        table = ProcessTable()
        names = {one.key: one.name for one in table}
        assert [names[key] for key in below] == ["sh", "tail"]
        for key in below:
            os.kill(int(key.partition(":")[0]), signal.SIGKILL)
    assert running_below(process.pid) == []
