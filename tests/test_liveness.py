from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import TIMEOUT, child, python

from gate.liveness import Owner, Place, Stat, _psutil_stat, find_owner, is_alive, parse_stat, read_stat

HERE = Place("a-host", "a-boot", "pid:[1]")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")


def owner_of(pid: int) -> Owner:
    found = read_stat(pid)
    assert found is not None
    return Owner(pid, found.started)


def become_zombie(process: subprocess.Popen[bytes]) -> None:
    """End a child of this process, and wait for its end without asking for its status."""
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def test_a_living_process_is_alive_and_known_by_its_start() -> None:
    with child("sh", "-c", "echo; read -r _") as process:
        found = read_stat(process.pid)
        assert found is not None
        assert (found.name, found.ppid) == ("sh", os.getpid())
        assert is_alive(Owner(process.pid, found.started), HERE, HERE) is True
    assert is_alive(Owner(process.pid, found.started), HERE, HERE) is False


def test_this_process_is_alive() -> None:
    here = Place.current("a-boot")
    assert is_alive(owner_of(os.getpid()), here, Place.current("a-boot")) is True


def test_a_zombie_is_dead_though_a_signal_reaches_it() -> None:
    with child("sh", "-c", "echo; read -r _") as process:
        become_zombie(process)
        os.kill(process.pid, 0)
        found = read_stat(process.pid)
        assert found is not None
        assert found.state == "Z"
        assert is_alive(Owner(process.pid, found.started), HERE, HERE) is False


def test_a_pid_that_was_given_to_another_process_is_not_its_owner() -> None:
    owner = owner_of(os.getpid())
    assert is_alive(Owner(owner.pid, owner.started - 1), HERE, HERE) is False
    assert is_alive(Owner(owner.pid, owner.started + 1), HERE, HERE) is False


def test_an_owner_without_a_known_start_is_dead_only_when_nobody_has_its_pid() -> None:
    assert is_alive(Owner(os.getpid(), 0), HERE, HERE) is None
    with child("echo", "x") as process:
        process.wait(TIMEOUT)
    assert is_alive(Owner(process.pid, 0), HERE, HERE) is False


def forbidden(pid: int) -> Stat | None:
    raise PermissionError(pid)


def unasked(pid: int) -> Stat | None:
    raise AssertionError("what is elsewhere is not to be looked for here")


def test_not_permitted_to_look_is_not_dead() -> None:
    assert is_alive(Owner(4242, 7), HERE, HERE, forbidden) is None


def test_an_unknown_owner_is_neither_alive_nor_dead() -> None:
    assert is_alive(None, HERE, HERE, unasked) is None


@pytest.mark.parametrize(
    ("there", "alive"),
    [
        (Place("a-host", "another-boot", "pid:[1]"), False),
        (Place("a-host", "another-boot", "pid:[2]"), False),
        (Place("another-host", "another-boot", "pid:[1]"), None),
        (Place("another-host", "a-boot", "pid:[1]"), None),
        (Place("a-host", "a-boot", "pid:[2]"), None),
        (Place("a-host", "a-boot", ""), None),
        (Place("a-host", "", "pid:[1]"), None),
    ],
    ids=lambda value: f"{value.host},{value.boot},{value.namespace}" if isinstance(value, Place) else str(value),
)
def test_what_another_boot_host_or_namespace_wrote_cannot_be_probed(there: Place, alive: bool | None) -> None:
    assert is_alive(Owner(os.getpid(), 7), there, HERE, unasked) is alive
    assert is_alive(None, there, HERE, unasked) is alive


def test_where_the_system_tells_no_boot_the_place_still_decides() -> None:
    nowhere = Place("a-host", "", "")
    assert is_alive(owner_of(os.getpid()), nowhere, nowhere) is True


@linux
def test_the_place_is_the_kernels() -> None:
    place = Place.current("a-boot")
    assert (place.host, place.boot) == (os.uname().nodename, "a-boot")
    assert place.namespace == os.readlink("/proc/self/ns/pid")


def test_nobody_has_a_pid_that_is_none() -> None:
    for pid in (2**31 - 1, 2**63, 10**30):
        assert read_stat(pid) is None


HIDDEN = """
import os, sys
from gate.liveness import Owner, Place, is_alive, read_stat
os.setgroups([]); os.setgid(65534); os.setuid(65534)
assert not os.path.exists(f"/proc/{sys.argv[1]}/stat"), "not hidden"
place = Place.current("b")
print(is_alive(Owner(int(sys.argv[1]), 7), place, place), is_alive(Owner(int(sys.argv[2]), 7), place, place))
"""


@linux
def test_a_process_that_proc_hides_is_not_dead() -> None:
    """`hidepid=2`: another user's process looks missing. A real one, where this test may mount a /proc."""
    mount = 'mount -t proc -o hidepid=2 proc /proc || exit 77; exec "$@"'
    command: list[str | Path] = [shutil.which("unshare") or "false", "--mount", "sh", "-c", mount, "sh"]
    if os.getuid() != 0 or subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("may not mount a /proc")
    with child("echo", "x") as dead:
        dead.wait(TIMEOUT)
    look = [*command, *python(HIDDEN, str(os.getpid()), str(dead.pid))]
    done = subprocess.run(look, capture_output=True, check=False, text=True)
    assert (done.stdout, done.stderr) == ("None False\n", "")


@given(
    st.binary(max_size=15).filter(lambda name: b"\0" not in name),
    st.sampled_from("RSDZTtXIP"),
    st.integers(0, 2**22),
    st.integers(0, 2**62),
)
def test_a_process_can_have_any_name(name: bytes, state: str, ppid: int, started: int) -> None:
    fields = [b"7", b"7", b"0", b"-1", *[b"0"] * 13, b"20", b"0", b"1", b"0"]
    text = b"4242 (%b) %b %d %b %d 0 0\n" % (name, state.encode(), ppid, b" ".join(fields[:17]), started)
    found = parse_stat(text)
    assert found is not None
    assert (os.fsencode(found.name), found.state, found.ppid, found.started) == (name, state, ppid, started)
    assert parse_stat(text[: text.rfind(b")")]) is None


@linux
@pytest.mark.parametrize("name", ["a) S 1 (b", "two words", "(", ")", "new\nline", "fifteen-charact"])
def test_real_names_are_read_as_the_kernel_writes_them(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    program.write_text("#!/bin/sh\necho\nread -r _\n")
    program.chmod(0o755)
    with child(program) as process:
        found = read_stat(process.pid)
        assert found is not None
        assert (found.name, found.ppid) == (name, os.getpid())
        boot_time = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        started = boot_time + found.started / os.sysconf("SC_CLK_TCK")
        assert abs(started - psutil.Process(process.pid).create_time()) < 1.5  # psutil's boot time is in whole seconds


def test_without_proc_psutil_tells_the_same() -> None:
    with child("sh", "-c", "echo; read -r _") as process:
        first, second = _psutil_stat(process.pid), _psutil_stat(process.pid)
        assert first is not None
        assert second is not None
        assert (first.name, first.ppid, first.started) == ("sh", os.getpid(), second.started)
        owner = Owner(process.pid, first.started)
        assert is_alive(owner, HERE, HERE, _psutil_stat) is True
        assert is_alive(Owner(process.pid, first.started - 1), HERE, HERE, _psutil_stat) is False
        become_zombie(process)
        assert is_alive(owner, HERE, HERE, _psutil_stat) is False
    assert is_alive(owner, HERE, HERE, _psutil_stat) is False


FIND = """
import os, sys
from gate.liveness import find_owner, read_stat
named = int(sys.argv[1]) if sys.argv[1] else None
owner = find_owner(os.getpid(), lambda process: process.name == "claude", named)
print("none" if owner is None else owner.pid if owner.started == read_stat(owner.pid).started else "wrong start")
"""


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A program called `claude` that says its pid and runs what it is given."""
    program = tmp_path / "claude"
    program.write_text('#!/bin/sh\nprintf "%s " $$\n"$@"\n:\n')
    program.chmod(0o755)
    return program


def run(*command: str | Path) -> list[str]:
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=TIMEOUT).stdout.split()


@linux
def test_the_owner_is_the_client_above_the_shell(claude: Path) -> None:
    client, owner = run(claude, "sh", "-c", '"$@"; :', "sh", *python(FIND, ""))
    assert owner == client


@linux
def test_the_owner_is_the_nearest_client_whatever_the_outer_one_passed_down(claude: Path) -> None:
    outer, inner, owner = run(claude, claude, "sh", "-c", '"$@"; :', "sh", *python(FIND, ""))
    assert owner == inner != outer
    named = (
        f'{claude} sh -c \'"$@"; :\' sh "$1" -c "$2" "$$"; :'  # the outer shell's pid stands in for the outer client
    )
    _outer, inner, owner = run(claude, "sh", "-c", named, "sh", sys.executable, FIND)
    assert owner == inner


@linux
def test_a_client_of_another_name_is_its_owner_where_it_names_itself() -> None:
    pid, owner = run("sh", "-c", 'echo $$; "$1" -c "$2" $$; :', "sh", sys.executable, FIND)
    assert owner == pid


@linux
def test_a_client_that_is_no_ancestor_is_taken_by_its_word() -> None:
    with child("sh", "-c", "echo; read -r _") as process:
        assert run(*python(FIND, str(process.pid))) == [str(process.pid)]
        become_zombie(process)
        assert run(*python(FIND, str(process.pid))) == ["none"]
    assert run(*python(FIND, str(process.pid))) == ["none"]


def table(processes: Mapping[int, tuple[str, int]]) -> object:
    def stat(pid: int) -> Stat | None:
        name, ppid = processes.get(pid, ("", 0))
        if name == "hidden":
            raise PermissionError(pid)
        return Stat(name, "S", ppid, pid * 100) if name else None

    return stat


def is_client(process: Stat) -> bool:
    return process.name == "claude"


@pytest.mark.parametrize(
    ("processes", "named", "owner"),
    [
        ({9: ("gate", 8), 8: ("sh", 7), 7: ("claude", 1), 1: ("init", 0)}, None, 7),
        ({9: ("claude", 8), 8: ("sh", 1), 1: ("init", 0)}, None, None),  # a process is not its own owner
        ({9: ("gate", 1), 1: ("claude", 0)}, None, None),  # pid 1 outlives everybody
        ({9: ("gate", 1), 1: ("claude", 0)}, 1, None),
        ({9: ("gate", 0)}, 0, None),
        ({9: ("gate", 8), 8: ("sh", 9)}, None, None),  # a ring: the table changed while one looked
        ({9: ("gate", 8), 8: ("hidden", 7), 7: ("claude", 1)}, None, None),
        ({9: ("gate", 8), 8: ("hidden", 7), 7: ("claude", 1)}, 7, 7),
        ({9: ("gate", 8), 8: ("node", 7), 7: ("claude", 1)}, 8, 8),  # the nearest, by whichever sign
        ({9: ("gate", 8), 8: ("claude", 7), 7: ("claude", 1)}, 7, 8),
        ({9: ("gate", 8)}, 5, None),
        ({9: ("gate", 8), 5: ("hidden", 1)}, 5, None),
        ({}, None, None),
    ],
)
def test_owners_in_made_up_tables(
    processes: Mapping[int, tuple[str, int]], named: int | None, owner: int | None
) -> None:
    found = find_owner(9, is_client, named, table(processes))  # type: ignore[arg-type]
    assert (found and found.pid) == owner
    assert found is None or found.started == found.pid * 100


@given(
    st.dictionaries(st.integers(0, 9), st.tuples(st.sampled_from(["sh", "claude", "hidden"]), st.integers(0, 9))),
    st.one_of(st.none(), st.integers(0, 9)),
)
def test_an_owner_is_always_a_client_or_named_and_never_the_first_process(
    processes: Mapping[int, tuple[str, int]], named: int | None
) -> None:
    found = find_owner(9, is_client, named, table(processes))  # type: ignore[arg-type]
    if found is not None:
        assert found.pid > 1
        assert found.pid == named or processes[found.pid][0] == "claude"


@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda rest: b"7 (x) S 1 1 1 0 -1 " + b"0 " * 12 + rest))
def test_anything_else_is_no_process(text: bytes) -> None:
    found = parse_stat(text)
    assert found is None or os.fsencode(found.name) in text
