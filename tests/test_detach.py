"""A detached process is nobody's: a session of its own, nothing of ours open, nobody's directory, and it is nice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kit import TIMEOUT

import gate
from gate.detach import NICENESS, own_command

ROOT = Path(next(iter(gate.__path__))).parent

STARTER = """
import os, sys
sys.path.append(sys.argv[1])
from gate.detach import detach
stray = os.open(os.devnull, os.O_RDONLY)
os.set_inheritable(stray, True)
kept = os.open(sys.argv[2], os.O_WRONLY)
print(os.getsid(0), detach([sys.executable, "-I", "-S", "-c", *sys.argv[3:], str(kept)], {"A": "b"}, keep=[kept]), kept)
"""

TELL = """
import os, sys
sys.path.append(sys.argv[1])
from gate.detach import settle_down
before = os.nice(0)
settle_down()
kept = int(sys.argv[2])
found = {int(fd): os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")}
value = [os.getpid(), os.getsid(0), os.getcwd(), os.nice(0) - before, dict(os.environ).get("A"), kept]
import json
os.write(kept, json.dumps([*value, {fd: path for fd, path in found.items() if os.path.exists(path)}]).encode())
"""


def test_nothing_of_ours_goes_along_but_what_is_kept(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    gone = tmp_path / "gone"
    gone.mkdir()
    arguments = [sys.executable, "-I", "-c", STARTER, ROOT, fifo, TELL, ROOT]
    with subprocess.Popen(arguments, cwd=gone, stdin=-1, stdout=-1, stderr=-1) as starter:
        told = json.loads(fifo.read_text())
        out, err = starter.communicate(timeout=TIMEOUT)  # ends though the child may still be there: it has no pipe
    session, done, kept = out.split()
    assert (done, err) == (b"True", b"")
    pid, its_session, directory, nicer, value, fd, found = told
    assert its_session == pid != int(session)
    assert (directory, nicer, value, fd) == ("/", NICENESS, "b", int(kept))
    assert found == {"0": os.devnull, "1": os.devnull, "2": os.devnull, kept.decode(): str(fifo)}


def test_what_cannot_be_started_is_told(tmp_path: Path) -> None:
    from gate.detach import detach

    assert not detach([str(tmp_path / "none")], {})
    assert not detach([sys.executable, "\0"], {})


def test_its_command_is_isolated() -> None:
    assert own_command("/x/hook.py", "finish") == [sys.executable, "-I", "-S", "/x/hook.py", "finish"]
