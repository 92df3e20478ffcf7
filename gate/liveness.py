"""Whether the process that a session belongs to is still the one that it was.

A pid alone proves nothing: it is recycled (incidents: a daemon that never started again because its lock's pid had gone
to another program; 7,668 restarts over one reused pid). So an owner is a pid with its creation time, on a host, in a
boot, in a pid namespace; whatever cannot be probed from here is unknown, and unknown is neither alive nor dead.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Stat:
    """One process as `/proc/PID/stat` tells it: times in the kernel's ticks since boot. `group` and `session` are the
    ids of its process group and process session, `terminal` says whether that has a controlling terminal, `used` is
    processor time in ticks, `memory` resident pages, `pid` 0 where it was not asked for.
    """

    __slots__ = ("group", "memory", "name", "pid", "ppid", "session", "started", "state", "terminal", "used")

    def __init__(
        self,
        name: str,
        state: str,
        ppid: int,
        started: int,
        group: int = 0,
        session: int = 0,
        terminal: bool = False,
        used: int = 0,
        memory: int = 0,
        pid: int = 0,
    ) -> None:
        self.pid = pid
        self.name = name
        self.state = state
        self.ppid = ppid
        self.started = started
        self.group = group
        self.session = session
        self.terminal = terminal
        self.used = used
        self.memory = memory


class Place:
    """Where a process id means something: the host, its boot, and the pid namespace."""

    __slots__ = ("boot", "host", "namespace")

    def __init__(self, host: str, boot: str, namespace: str) -> None:
        self.host = host
        self.boot = boot
        self.namespace = namespace

    @classmethod
    def current(cls, boot: str) -> Place:
        """The place of this process."""
        host = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
        try:
            namespace = os.readlink("/proc/self/ns/pid")
        except OSError:
            namespace = ""
        return cls(host, boot, namespace)


def read_stat(pid: int) -> Stat | None:
    """One process, None where there is none by that id. Raises PermissionError where looking is not permitted."""
    if not sys.platform.startswith("linux"):
        return _psutil_stat(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        _refuse_hidden(pid)
        return None
    return parse_stat(text)


def parse_stat(text: bytes) -> Stat | None:
    """The fields of proc(5) that matter here; the name is in parentheses and may itself hold some. None where they
    cannot be understood.
    """
    opened, closed = text.find(b"("), text.rfind(b")")
    fields = text[closed + 1 :].split()
    if opened < 0 or len(fields) < 22:
        return None
    try:
        name, state = os.fsdecode(text[opened + 1 : closed]), fields[0].decode()
        ppid, group, session, terminal, started, memory = (int(fields[place]) for place in (1, 2, 3, 4, 19, 21))
        used = int(fields[11]) + int(fields[12])
    except ValueError:  # another system's
        return None
    number = text[: max(opened, 0)].strip()
    pid = int(number) if number.isdigit() else 0
    return Stat(name, state, ppid, started, group, session, terminal != 0, used, memory, pid)


def _refuse_hidden(pid: int) -> None:
    """`hidepid` makes other users' processes look missing; a signal of 0 tells them from dead ones."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return
    raise PermissionError(f"/proc hides process {pid}")


def _psutil_stat(pid: int) -> Stat | None:
    """Where there is no /proc: psutil, which this costs only where other sessions are open."""
    _find_site_packages()
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            state = "Z" if process.status() == psutil.STATUS_ZOMBIE else "R"
            return Stat(process.name(), state, process.ppid(), int(process.create_time() * 100), pid=pid)
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        raise PermissionError(pid) from None


def _find_site_packages() -> None:
    if sys.flags.no_site and "site" not in sys.modules:  # a hook's Python runs with -S
        import site

        site.main()


def read_command(pid: int) -> list[str]:
    """The command line of a process; empty where it cannot be read."""
    if not sys.platform.startswith("linux"):
        return _psutil_command(pid)
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return os.fsdecode(file.read()).rstrip("\0").split("\0")
    except OSError:
        return []


def _psutil_command(pid: int) -> list[str]:
    _find_site_packages()
    import psutil

    try:
        return list(psutil.Process(pid).cmdline())
    except (psutil.Error, OSError):
        return []


MOST_RUNNING = 500
"""How many descendants of a process are listed."""


def running_below(pid: int, proc: str = "/proc") -> list[str]:
    """The descendants of a process, each as `pid:start` in the kernel's ticks. Linux only, and empty where the kernel
    does not list children (proc(5), CONFIG_PROC_CHILDREN); a walk over all processes would cost too much here.
    """
    found: list[str] = []
    waiting = [str(pid)]
    while waiting and len(found) < MOST_RUNNING:
        parent = waiting.pop(0)
        try:
            threads = os.listdir(f"{proc}/{parent}/task")
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"{proc}/{parent}/task/{thread}/children", "rb") as file:
                    children = file.read().decode("ascii").split()
            except OSError:
                continue
            for child in children:
                try:
                    with open(f"{proc}/{child}/stat", "rb") as file:
                        stat = parse_stat(file.read())
                except OSError:
                    continue  # it has just ended
                if stat is not None:
                    waiting.append(child)
                    found.append(f"{child}:{stat.started}")
    return found[:MOST_RUNNING]


class Owner:
    """The process whose life is a session's. `started` is in the unit of `read_stat`, 0 where it is not known.

    `shared` says that it runs several people's sessions at once (a client's daemon): when it is dead they are over, but
    what it runs is not one session's, and that it lives tells only that its client has not yet said their ends.
    """

    __slots__ = ("pid", "shared", "started")

    def __init__(self, pid: int, started: int, shared: bool = False) -> None:
        self.pid = pid
        self.started = started
        self.shared = shared

    def to_json(self) -> dict[str, int | bool]:
        """The JSON object that a record stores; without `shared` it is what older versions wrote."""
        return {"pid": self.pid, "started": self.started, **({"shared": True} if self.shared else {})}


def is_alive(
    owner: Owner | None, there: Place, here: Place, stat: Callable[[int], Stat | None] = read_stat
) -> bool | None:
    """True while the owner lives, False when it is surely gone, None where that cannot be told from here."""
    if there.boot and here.boot and there.boot != here.boot and there.host == here.host:
        return False
    if owner is None or there.host != here.host or there.boot != here.boot or there.namespace != here.namespace:
        return None
    try:
        process = stat(owner.pid)
    except PermissionError:
        return None
    if process is None or process.state in ("Z", "X"):
        return False
    if not owner.started:
        return None
    return process.started == owner.started


def find_owner(
    pid: int, is_client: Callable[[Stat], bool], named: int | None, stat: Callable[[int], Stat | None] = read_stat
) -> Owner | None:
    """The nearest ancestor of `pid` that is the client's program, or that the client itself named.

    The walk comes first, because a nested client inherits its outer client's variables. A pid that the client named is
    taken from outside the walk only where the walk finds nobody. Never pid 1: it outlives everybody.
    """
    seen: set[int] = set()
    current = pid
    while current > 1 and current not in seen:
        seen.add(current)
        process = _stat_or_none(current, stat)
        if process is None:
            break
        if current != pid and (current == named or is_client(process)):
            return Owner(current, process.started)
        current = process.ppid
    if named is not None and named > 1:
        process = _stat_or_none(named, stat)
        if process is not None and process.state not in ("Z", "X"):
            return Owner(named, process.started)
    return None


def _stat_or_none(pid: int, stat: Callable[[int], Stat | None]) -> Stat | None:
    try:
        return stat(pid)
    except PermissionError:
        return None
