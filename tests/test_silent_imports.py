"""A green start costs what it imports, so what the silent path imports is a fixed list."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import psutil
import pytest
from kit import PYTHON, SILENT, Machine, green

import gate

ROOT = Path(gate.__file__).parent.parent
MODULES = ("clock", "jsontext", "directories", "files", "foreign", "project", "liveness", "stamp", "marker", "ledger",
           "verdict", "errors", "state", "site", "tags", "payload", "detach", "clients", "clients.claude", "fired",
           "sessions", "watchdog", "silent")  # fmt: skip
"""Of this package, beside `hook`, which runs as a program."""

FORBIDDEN = ("re", "json", "dataclasses", "typing", "datetime", "hashlib", "subprocess", "pathlib", "tomllib",
             "collections", "inspect", "enum", "functools", "operator", "contextlib", "tempfile", "shutil", "threading",
             "random", "locale", "logging", "socket", "urllib", "importlib.metadata", "psutil", "pluggy", "orjson",
             "git", "click")  # fmt: skip

IMPORT = """
import sys
at_start = set(sys.modules)
sys.path.append(sys.argv[1])
for name in sys.argv[2:]:
    __import__("gate." + name)
print(*sorted(set(sys.modules) - at_start))
"""

USE = """
import os, sys
at_start = set(sys.modules)
sys.path.append(sys.argv[1])
from gate import directories, files, jsontext
from gate.clock import Clock, rfc3339
from gate.ledger import Record
from gate.liveness import find_owner, read_stat
from gate.site import Site

environ = {"HOME": sys.argv[2], "SESSION_GATE_STATE_DIR": directories.state_dir({"HOME": sys.argv[2]})}
site = Site.at(sys.argv[2], environ)
site.state.ensure()
now = site.clock.now()
marker = {
    "schema": 1, "state": "ok", "when": rfc3339(now), "project": site.project.root, "session": None, "duration_ms": 1.5,
    "results": [], "findings": [], "began": {"boot": site.clock.boot, "since_boot": site.clock.since_boot()},
    "stale_after": 604800, "stamp": site.stamp(), "memory": {}, "shown": {},
}
with site.state.lock():
    assert site.state.marker_file.write(marker, jsontext.dumps(marker).encode())
me = find_owner(os.getpid(), lambda process: True, None)
site.state.ledger.write(Record("session-1", "claude", me, site.place, now, now, site.project.here))
files.sweep_temporaries(site.state.directory)
verdict = site.judge(site.look(), None)
assert verdict.kind == "green", verdict
site.state.ledger.remove("session-1")
print(*sorted(set(sys.modules) - at_start))
"""


def loaded(code: str, *arguments: str | Path) -> set[str]:
    """The modules that are there after a program ran, as a hook runs: without site-packages, nothing of the
    environment's, the repository at the end of the path.
    """
    command = [sys.executable, "-I", "-S", "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.split())


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_the_silent_path_imports_nothing_that_costs(module: str) -> None:
    assert not loaded(IMPORT, ROOT, module).intersection(FORBIDDEN)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="without /proc an owner costs psutil")
def test_a_green_start_uses_nothing_that_costs(tmp_path: Path) -> None:
    found = loaded(USE, ROOT, tmp_path.resolve())
    assert not found.intersection(FORBIDDEN)
    ours = {name for name in found if name.partition(".")[0] == "gate"}
    assert ours <= {"gate"} | {f"gate.{name}" for name in MODULES}


DONE = [
    "reads /proc/sys/kernel/random/boot_id",
    "reads HERE/home/.claude/sessions",
    "reads STATE/marker.json",
    "reads STATE/sessions",
    "writes STATE/sessions/.one.json.tmp",
    "renames STATE/sessions/.one.json.tmp",
    "reads STATE/fired.json",
    "writes STATE/.fired.json.tmp",
    "renames STATE/.fired.json.tmp",
    "reads HERE/config/checks",
    "writes STATE/sessions/one.baseline.lock",
    "reads /proc/self/fd",
    "os.posix_spawn",
    "writes HERE/said",
]
"""What a green start reads, writes and starts, in order, however many projects there are; other sessions add a record
each. Beside it, it asks `/proc` for itself and its ancestors. The last line is the test's own."""

WATCHED = """
import os, sys
before, events, leave, _, script, said, *arguments = set(sys.modules), [], os._exit, *sys.argv

def watch(event, parameters):
    if event in ("open", "os.listdir", "os.scandir"):
        events.append(f"reads {parameters[0]}" if not isinstance(parameters[0], int) else "")
        if event == "open" and parameters[2] & (os.O_WRONLY | os.O_RDWR):
            events[-1] = f"writes {parameters[0]}"
    elif event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate"):
        events.append(f"{event.partition('.')[2]}s {parameters[0]}")
    elif event.startswith(("os.fork", "os.exec", "os.spawn", "os.posix_spawn", "os.system", "subprocess", "socket")):
        events.append(event)

def tell(code):
    if os.getpid() == me:
        modules = sorted(set(sys.modules) - before)
        os.write(os.open(said, os.O_WRONLY | os.O_CREAT), "\\n".join([" ".join(modules), *events]).encode())
    leave(code)

me, os._exit, sys.argv = os.getpid(), tell, [script, *arguments]
sys.addaudithook(watch)
with open(script) as file:
    exec(compile(file.read(), script, "exec"), {"__name__": "__main__", "__file__": script})
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the system is asked in other ways")
def test_a_green_start_does_just_this(tmp_path: Path) -> None:
    machine = Machine(tmp_path.resolve())
    project = machine.repository()
    green(machine, project)
    payload = {"session_id": "one", "cwd": str(project), "hook_event_name": "SessionStart", "source": "startup"}
    command = [PYTHON, "-I", "-S", "-c", WATCHED, SILENT, machine.directory / "said", "start", "--client", "claude"]
    done = subprocess.run(
        command, input=json.dumps(payload).encode(), cwd=project, env=machine.environ, capture_output=True, check=True
    )
    machine.settle()
    assert (done.stdout, done.stderr) == (b"", b"")
    modules, *events = (machine.directory / "said").read_text().splitlines()
    ours = {f"gate.{name}" for name in MODULES} | {"gate"}
    assert set(modules.split()) == ours | {"__future__", "_blake2", "_json", "errno", "fcntl", "gc", "select"}
    installed = (str(SILENT.parents[1]), sysconfig.get_path("stdlib"))
    seen = [event for event in events if not event.removeprefix("reads ").startswith(installed)]
    places = {str(machine.project_dir()): "STATE", str(machine.directory): "HERE"}
    for place, name in places.items():
        seen = [event.replace(place, name) for event in seen]
    assert [re.sub(r"\.\d+\.tmp$", ".tmp", event) for event in seen if not re.search(r"/proc/\d+/stat$", event)] == DONE


WITHOUT_PROC = """
import os, sys
sys.path.append(sys.argv[1])
from gate.liveness import _psutil_stat
print(_psutil_stat(os.getppid()).name)
"""


def test_without_proc_psutil_is_found_though_a_hooks_python_knows_no_packages() -> None:
    assert loaded(WITHOUT_PROC, ROOT) == {psutil.Process().name()}


def test_the_list_is_of_what_is_not_there_anyway() -> None:
    """Else a module that the interpreter itself imports would be forbidden, or a misspelt one."""
    bare = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert not set(bare.stdout.split()).intersection(FORBIDDEN)
    standard = {name.partition(".")[0] for name in FORBIDDEN} - {"psutil", "pluggy", "orjson", "git", "click"}
    assert standard <= sys.stdlib_module_names
