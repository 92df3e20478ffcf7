from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.errors import UnknownError
from gate.testing import World
from gate.world.holders import (
    PID_LIMIT,
    Fate,
    Holder,
    fate_of,
    is_git_at_work,
    parse_holder,
    parse_link,
    parse_reason,
    same_host,
)
from gate.world.processes import ProcessTable

LINUX = sys.platform.startswith("linux")
HERE = os.uname().nodename


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"4242", Holder(4242)),
        (b"4242\n", Holder(4242)),
        (b"4242\r\n", Holder(4242)),
        (b"4242 build-7.example.org", Holder(4242, "build-7.example.org")),
        (b"4242 1790000000\n", Holder(4242)),  # a time beside it is no host
        (b"4242\n/srv/data\n1790000000\n5432\n", Holder(4242)),  # a server's pid file
        (b"pid: 4242\nstarted: 2026-07-10T02:15:00Z\n", Holder(4242)),
        (b"owner=x pid=4242 host=web", Holder(4242, "web")),
        (b'{"pid": 4242}', Holder(4242)),
        (b'{"pid": "4242", "hostname": "web"}', Holder(4242, "web")),
        (b'{"PID": 4242, "procStart": "8675309"}', Holder(4242, ticks=8675309)),
        (b'{"pid": 4242, "procStart": "Fri Jun 19 21:37:40 2026"}', Holder(4242)),  # macOS
        (b'{"pid": 4242, "procStart": "639012345678901234"}', Holder(4242)),  # Windows
        (b'{"pid": 4242, "startTime": 1790000000123}', Holder(4242, started=1790000000.123)),
        (b'{"process_id": 4242, "start_time": 1790000000}', Holder(4242, started=1790000000.0)),
        (b'{"pid": 4242, "startTime": "yesterday"}', Holder(4242)),
        (b'{"owner": {"pid": 4242, "host": "web"}, "at": 1}', Holder(4242, "web")),
        (b'{"pid": 4242, "ns": "pid:[4026531836]"}', Holder(4242, namespace="pid:[4026531836]")),
    ],
)
def test_forms_in_which_locks_name_their_holder(content: bytes, expected: Holder) -> None:
    assert parse_holder(content, "some.lock") == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"\0" * 20,
        b"0",
        b"1",
        b"-4242",
        b"4242.5",
        b"1790000000",
        b"4194305",
        b"42" * 2000,
        b"4242abcd-0000-4000-8000-00000000000a",
        b"pid=4242abcd-0000-4000-8000-00000000000a",
        b"rapid: 4242",
        b"[4242]",
        b'{"pid": 42',
        b'{"pid": true}',
        b'{"pid": 4242.0}',
        b'{"pid": null}',
        b'{"pid": ' + b"9" * 4000 + b"}",
        b'{"a":' * 700,
        b'{"a":' + b"[" * 4000,
        b"DIRC\0\0\0\2\0\0\0\1",
        "４２４２".encode(),
        b"\xff\xfe4242",
    ],
)
def test_what_is_empty_torn_or_absurd_names_nobody(content: bytes) -> None:
    assert parse_holder(content, "some.lock").pid is None


def test_a_name_that_is_a_pid_counts_where_the_content_has_none() -> None:
    assert parse_holder(b"", "4242") == Holder(4242)
    assert parse_holder(b'{"pid": 99}', "4242").pid == 99
    assert parse_holder(b"", "4242.lock").pid is None  # a port, as often as not
    assert parse_holder(b"", "1").pid is None


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("web-4242", Holder(4242, "web")),
        ("build-7.example.org-4242", Holder(4242, "build-7.example.org")),
        ("-4242", Holder()),
        ("web-1", Holder()),
        ("web", Holder()),
        ("../other/version-4242", Holder()),
    ],
)
def test_a_link_to_nothing_names_host_and_pid(target: str, expected: Holder) -> None:
    assert parse_link(target) == expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("claude session probe0 (pid 29884)", Holder(29884)),
        ("claude session probe0 (pid 29884 start 8675309)", Holder(29884, ticks=8675309)),
        ("claude agent agent-a5 (pid 4299 start Fri Jun 19 21:37:40 2026)", Holder(4299)),
        ("claude session (pid 7 start 8) (pid 29884 start 8675309)", Holder(29884, ticks=8675309)),  # a chosen name
        ("openclaw pid=1829694", Holder(1829694)),
        ("flow-claim issue=1012 pid=4093 session=e025 host=web ts=1", Holder(4093, "web")),
        ("", Holder()),
        ("4242", Holder()),
        ("2026", Holder()),
        ("on the USB disk of 2024", Holder()),
        ("PID 12 controller experiments", Holder()),
        ("added with --lock", Holder()),
    ],
)
def test_only_a_clients_reason_names_a_process(reason: str, expected: Holder) -> None:
    assert parse_reason(reason) == expected


@given(content=st.binary(max_size=300), name=st.text(max_size=20))
@example(content=b"{" * 4096, name="")
@example(content=b"[" * 4096, name="")
@example(content=b'{"pid":1e999}', name="")
@example(content=b'{"startTime":1e999,"pid":3,"procStart":[]}', name="")
@example(content=b"(pid 3 start 999999999999)", name="")
def test_no_content_makes_parsing_fail_or_yields_an_absurd_pid(content: bytes, name: str) -> None:
    _holds(parse_holder(content, name))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("pid", "host", "startTime", "procStart", "owner")), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(value=JSON)
def test_no_json_makes_parsing_fail_or_yields_an_absurd_pid(value: object) -> None:
    _holds(parse_holder(json.dumps(value).encode()))


@given(reason=st.text(max_size=60) | st.from_regex(r"(pid|host|start)[ :=(]{1,3}[0-9]{1,30}\)?", fullmatch=True))
def test_no_reason_or_link_makes_parsing_fail(reason: str) -> None:
    _holds(parse_reason(reason))
    _holds(parse_link(reason))


def _holds(holder: Holder) -> None:
    assert holder.pid is None or 2 <= holder.pid <= PID_LIMIT
    assert holder.host is None or holder.host
    assert holder.ticks is None or 0 <= holder.ticks < 10**12
    assert holder.started is None or 1e9 <= holder.started < 1e10
    assert isinstance(fate_of(holder, 0.0, _Empty()), Fate)


class _Empty(ProcessTable):
    snapshot = ()

    def exists(self, pid: int) -> bool:
        return False


def test_hosts_are_compared_in_short_and_long_form() -> None:
    assert same_host("web", "WEB.example.org")
    assert same_host("web.example.org.", "web.example.org")
    assert not same_host("web", "web2")
    assert not same_host("web.a.example", "web.b.example")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def fate(world: World, holder: Holder, age: float = 3600) -> Fate:
    return fate_of(holder, world.clock.now() - age, world.processes)


def test_a_pid_that_nobody_has_is_dead(world: World) -> None:
    assert fate(world, Holder(4242)) is Fate.DEAD
    assert fate(world, Holder(4242, host=HERE)) is Fate.DEAD


@pytest.mark.parametrize("state", ["Z", "X"])
def test_a_zombie_is_dead(world: World, state: str) -> None:
    world.processes.add("claude", pid=4242, age=7200, state=state)
    assert fate(world, Holder(4242)) is Fate.DEAD


@pytest.mark.parametrize(
    ("process_age", "expected"),
    [(7200, Fate.ALIVE), (3600, Fate.ALIVE), (3599.1, Fate.ALIVE), (3598.5, Fate.RECYCLED), (10, Fate.RECYCLED)],
)
def test_a_process_younger_than_the_lock_is_somebody_else(world: World, process_age: float, expected: Fate) -> None:
    world.processes.add("claude", pid=4242, age=process_age)
    assert fate(world, Holder(4242)) is expected


def test_an_unknown_start_is_taken_for_the_holders(world: World) -> None:
    world.processes.add("claude", pid=4242, age=world.clock.now())
    process = world.processes.get(4242)
    assert process is not None
    assert process.started == 0.0
    assert fate(world, Holder(4242)) is Fate.ALIVE
    assert fate(world, Holder(4242, ticks=99)) is Fate.ALIVE


def test_a_start_time_in_the_lock_counts_where_its_file_was_touched_later(world: World) -> None:
    begun = world.clock.now() - 7200
    world.processes.add("claude", pid=4242, age=3600)
    assert fate(world, Holder(4242, started=begun), age=60) is Fate.RECYCLED
    assert fate(world, Holder(4242, started=begun + 3600), age=60) is Fate.ALIVE


def test_a_start_in_ticks_is_compared_exactly(world: World) -> None:
    process = world.processes.add("claude", pid=4242, age=60)
    assert fate(world, Holder(4242, ticks=99), age=0) is Fate.ALIVE  # a system that does not count so
    world.processes._made[4242] = process._replace(ticks=8675309)
    assert fate(world, Holder(4242, ticks=8675309)) is Fate.ALIVE  # though the lock looks older: the clock was set
    assert fate(world, Holder(4242, ticks=8675310), age=0) is Fate.RECYCLED
    assert fate(world, Holder(4242), age=0) is Fate.ALIVE


@pytest.mark.skipif(not LINUX, reason="needs /proc")
def test_field_22_of_a_real_process_is_its_start() -> None:
    with open("/proc/self/stat", "rb") as file:
        ticks = int(file.read().rpartition(b")")[2].split()[19])
    now = time.time()
    assert fate_of(Holder(os.getpid(), ticks=ticks), now, ProcessTable()) is Fate.ALIVE
    assert fate_of(Holder(os.getpid(), ticks=ticks + 1), now, ProcessTable()) is Fate.RECYCLED


@pytest.mark.parametrize(
    ("holder", "words"),
    [
        (Holder(4242, host="elsewhere.example"), "on another host: elsewhere.example"),
        (Holder(host="elsewhere.example"), "on another host: elsewhere.example"),
        (Holder(4242, namespace="pid:[1]"), "in another pid namespace"),
        (Holder(4242, away=True), "where its worktree is, not here"),
    ],
)
def test_what_cannot_be_probed_from_here_is_neither_dead_nor_alive(world: World, holder: Holder, words: str) -> None:
    if holder.namespace and not os.path.exists("/proc/self/ns/pid"):
        pytest.skip("no pid namespaces here")
    world.processes.add("claude", pid=4242, age=7200)
    assert fate(world, holder) is Fate.ELSEWHERE
    assert str(holder.where) == words


@pytest.mark.skipif(not os.path.exists("/proc/self/ns/pid"), reason="no pid namespaces here")
def test_this_namespace_is_probed(world: World) -> None:
    assert fate(world, Holder(4242, namespace=os.readlink("/proc/self/ns/pid"))) is Fate.DEAD


def test_a_process_younger_than_the_snapshot_is_not_called_dead() -> None:
    table = ProcessTable()
    assert table.snapshot
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert table.get(child.pid) is None
        assert fate_of(Holder(child.pid), time.time(), table) is Fate.ALIVE
        child.communicate(b"\n")
    assert fate_of(Holder(child.pid), time.time(), table) is Fate.DEAD


def test_a_real_zombie_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert fate_of(Holder(child.pid), time.time(), ProcessTable()) is Fate.DEAD
        assert not ProcessTable().exists(child.pid)
    finally:
        child.wait()


@pytest.mark.skipif(not LINUX, reason="threads have ids of their own on Linux")
def test_a_threads_id_is_no_process() -> None:
    import threading

    event = threading.Event()
    thread = threading.Thread(target=event.wait)
    thread.start()
    try:
        assert thread.native_id
        assert fate_of(Holder(thread.native_id), time.time(), ProcessTable()) is Fate.DEAD
    finally:
        event.set()
        thread.join()


def test_a_hidden_process_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> None:
        raise PermissionError(pid)

    monkeypatch.setattr("gate.world.processes.read_stat", refuse)
    assert ProcessTable().exists(4242)


def test_git_is_at_work_where_its_directory_lies_in_a_worktree(world: World) -> None:
    world.repository()
    context = _context(world)

    def at_work() -> bool:
        return is_git_at_work(world.processes, context.project, context.worktrees)

    assert not at_work()
    for number, directory in enumerate((world.root, world.root / "src", world.root / ".git")):
        process = world.processes.add("git", "commit", "-a", directory=str(directory))
        assert at_work(), number
        world.processes.vanish(process)
        assert not at_work(), number


@pytest.mark.parametrize("name", ["git", "git-remote-https", "git.exe"])
def test_programs_that_are_git(world: World, name: str) -> None:
    world.repository()
    world.processes.add(name, directory=str(world.root))
    context = _context(world)
    assert is_git_at_work(world.processes, context.project, context.worktrees)


def test_what_is_not_git_at_work_there(world: World) -> None:
    world.repository()
    root = str(world.root)
    world.processes.add("git", "gc", directory=root + "-copy")
    world.processes.add("git", "gc", directory="/")
    world.processes.add("git", "gc", directory=root, state="Z")
    world.processes.add("gitstatusd-linux", directory=root)
    world.processes.add("vim", "git", directory=root)
    world.processes.add("git", "fsmonitor--daemon", "run", "--detach", directory=root)
    ours = world.processes.add("git", "--no-optional-locks", "-c", "x=y", "status", directory=root)
    world.processes.add("git", "status", "--porcelain=2", directory=root + "/sub", ppid=ours.pid)
    context = _context(world)
    assert not is_git_at_work(world.processes, context.project, context.worktrees)
    world.processes.add("git", "status", directory=root, ppid=1)
    assert is_git_at_work(world.processes, context.project, context.worktrees)


def test_a_git_that_may_not_be_inspected_is_neither(world: World) -> None:
    world.repository()
    context = _context(world)
    hidden = world.processes.add("git", hidden=True)
    with pytest.raises(UnknownError, match=f"process {hidden.pid}"):
        is_git_at_work(world.processes, context.project, context.worktrees)
    world.processes.add("git", directory=str(world.root))
    assert is_git_at_work(world.processes, context.project, context.worktrees)


def _context(world: World) -> Any:
    from gate_checks.stale_locks import gate_check

    return world.context(gate_check())
