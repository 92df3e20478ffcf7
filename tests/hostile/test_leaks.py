"""What is secret reaches no output and no file, and what the gate keeps is the user's alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from assault import LEAVE, Assault, differences, snapshot
from kit import GATE, Machine, only_processes
from tally import refuse, tried

from gate.world.session_records import Here

TOKEN = "ghp_s3nt1nelT0kenThatNobodyMayEverSee"


@pytest.fixture
def left(assault: Assault) -> Iterator[Path]:
    """A repository in which a session left processes with a token in their arguments and environments."""
    project = assault.repository()
    pids = []
    environ = assault.machine.environ | {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "gone", "API_TOKEN": TOKEN}
    script = project / "serve.py"
    script.write_text("import time\ntime.sleep(600)\n")
    python = assault.directory / "python3"
    python.symlink_to(sys.executable)
    for words in (
        [str(python), str(script), f"--token={TOKEN}"],
        [str(python), "-c", "import time; time.sleep(600)", TOKEN],
        [f"python3 {TOKEN}", str(script), f"https://user:{TOKEN}@host"],
    ):
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", LEAVE, python, *words], env=environ, cwd=project,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        pids.append(int(done.stdout))
    yield project
    for pid in pids:
        os.kill(pid, 9)


def with_secrets(assault: Assault, project: Path) -> dict[str, bytes]:
    """Put the token wherever people have theirs; settings files and what they hold."""
    url = f"https://user:{TOKEN}@127.0.0.1:1/x.git"
    assault.configure(project, {
        "remote.origin.url": url,
        "remote.origin.pushurl": url,
        "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
        "branch.main.remote": url,
        "branch.main.merge": "refs/heads/main",
        "http.extraheader": f"Authorization: Bearer {TOKEN}",
        "credential.username": TOKEN,
        f"url.https://{TOKEN}@host/.insteadOf": "https://host/",
        "submodule.x.url": url,
    })  # fmt: skip
    head = assault.git(project, "rev-parse", "HEAD").strip()
    (project / ".git/FETCH_HEAD").write_text(f"{head}\t\tbranch 'main' of {url}\n")
    log = project / ".git/logs/HEAD"
    log.write_text(log.read_text() + f"{head} {head} A <a@b> 1 +0000\tclone: from {url}\n")
    (project / ".pilot.lock").write_text(json.dumps({"pid": 4194303, "token": TOKEN, "command": f"x --key {TOKEN}"}))
    (project / ".git/index.lock").write_text(TOKEN)
    os.utime(project / ".git/index.lock", (1e9, 1e9))
    (project / ".git/gc.pid").write_text(f"4194303 {TOKEN[:0]}host {TOKEN}")
    os.utime(project / ".git/gc.pid", (1e9, 1e9))
    (project / ".gate.toml").write_text(
        f'stale_after = "{TOKEN}"\ninject_limit = "{TOKEN}"\n'
        f'[checks.temp_size]\nmax_bytes = "{TOKEN}"\nmax_files = "{TOKEN}"\npaths = "{TOKEN}"\n'
    )
    (project / ".env").write_text(f"API_TOKEN={TOKEN}\n")
    home = assault.machine.directory / "home"
    (home / ".claude/sessions").mkdir(parents=True)
    here = Here.current()
    record = {
        "procStart": "7",
        "pidDomain": f"linux:{here.machine}:{here.namespace}",
        "pid": 4194303,
        "sessionId": "a",
        "cwd": str(project),
        "startedAt": 1,
        "token": TOKEN,
        "status": "busy",
    }
    (home / ".claude/sessions/4194303.json").write_text(json.dumps(record))
    os.utime(home / ".claude/sessions/4194303.json", (1e9, 1e9))
    settings = {
        "env": {"ANTHROPIC_API_KEY": TOKEN},
        "apiKeyHelper": f"echo {TOKEN}",
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"gate hook start; curl {TOKEN}"}]}]},
    }
    written = {}
    for file in (
        home / ".claude/settings.json",
        project / ".claude/settings.json",
        project / ".claude/settings.local.json",
    ):
        file.parent.mkdir(exist_ok=True)
        written[str(file)] = json.dumps(settings).encode()
        file.write_bytes(written[str(file)])
    (home / ".bashrc").write_text(f"export API_TOKEN={TOKEN}\n")
    return written


def holding(directory: Path, *ours: Path) -> list[str]:
    """Files below a directory that hold the token, but for those that it was put into."""
    return [
        str(path)
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink() and path not in ours and TOKEN.encode() in path.read_bytes()
    ]


def test_a_token_reaches_no_output_and_no_file(assault: Assault, left: Path) -> None:
    machine = assault.machine
    with_secrets(assault, left)
    machine.config.write_text("[checks.capture_streams]\nmax_streams = 100000\n" + only_processes("python3"))
    before = holding(machine.directory)
    machine.environ["API_TOKEN"] = TOKEN
    value = {
        "session_id": "s", "cwd": str(left), "hook_event_name": "SessionStart", "source": "startup", "token": TOKEN,
        "transcript_path": f"/nowhere/{TOKEN}.jsonl", "prompt": TOKEN,
    }  # fmt: skip
    calls: list[tuple[str, ...]] = [
        ("hook", "start", "--client", "claude"), ("run", "--format", "json"), ("end",),
        ("status", "--format", "json"), ("config",), ("doctor",),
        ("hook", "end", "--client", "claude"),
    ]  # fmt: skip
    said = b""
    for words in calls:
        value["hook_event_name"] = "SessionEnd" if "end" in words else "SessionStart"
        done = machine.gate(*words, cwd=left, payload=json.dumps(value).encode())
        refuse("leaks", TOKEN.encode() in done.stdout + done.stderr and (words, done.stdout, done.stderr))
        refuse("crashes", b"Traceback" in done.stderr and done.stderr)
        said += done.stdout
        tried(25)
    for expected in (b"python3 serve.py", b".pilot.lock", b"index.lock", b"expected", b"as running"):
        assert expected in said, "else nothing was looked at"
    machine.settle()
    refuse("leaks", sorted(set(holding(machine.directory)) - set(before)))


def test_what_install_backs_up_stays_private(assault: Assault) -> None:
    project = assault.repository()
    with_secrets(assault, project)
    before = holding(assault.machine.directory)
    for words in (("install", "claude"), ("install", "claude", "--scope", "project"), ("uninstall", "claude")):
        done = assault.machine.gate(*words, cwd=project)
        refuse("leaks", TOKEN.encode() in done.stdout + done.stderr and (words, done.stdout + done.stderr))
        tried(4)
    new = [Path(path) for path in set(holding(assault.machine.directory)) - set(before)]
    backups = [path for path in new if path.is_relative_to(assault.machine.state)]
    assert backups, "they are documented"
    refuse("leaks", [path for path in new if path not in backups])
    refuse("leaks", not_private(assault.machine.state))


def not_private(state: Path) -> list[str]:
    """What in a state directory others could read or write."""
    return [
        f"{path} {oct(mode)}"
        for path in (state, *state.rglob("*"))
        if (mode := stat.S_IMODE(path.lstat().st_mode)) != (0o700 if path.is_dir() else 0o600) and not path.is_symlink()
    ]


@pytest.mark.parametrize("umask", [0, 0o777])
def test_state_is_private_under_any_umask(assault: Assault, umask: int) -> None:
    project, machine = assault.repository(), assault.machine
    shutil.rmtree(machine.state)
    hook = machine.environ | {"SESSION_GATE_STATE_DIR": str(machine.directory / "a" / "b" / "state")}
    for words in (("hook", "start", "--client", "claude"), ("end",), ("hook", "end", "--client", "claude")):
        value = {
            "session_id": "s",
            "cwd": str(project),
            "hook_event_name": "SessionEnd" if words[1:2] == ("end",) else "",
        }
        subprocess.run(
            ["/bin/sh", "-c", f'umask {umask:o}; exec "$@"', "sh", str(GATE), *words], cwd=project, env=hook,
            input=json.dumps(value).encode(), capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        tried()
    machine.state = machine.directory / "a" / "b" / "state"
    machine.settle()
    assert len(list(machine.state.rglob("*"))) > 3
    refuse("leaks", [*not_private(machine.directory / "a")])


def planted_link(victim: Path, place: Path) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(victim)


LINKS = {
    "the project's directory": ("",),
    "the sessions'": ("sessions",),
    "files": ("marker.json", "lock", "sessions/s.json", "sessions/s.lock", "sessions/s.baseline.lock"),
}


@pytest.mark.parametrize("names", LINKS.values(), ids=LINKS)
def test_links_in_the_state_lead_nowhere(assault: Assault, names: tuple[str, ...]) -> None:
    """Someone who could write there once left links: what they lead to stays as it is."""
    project, machine = assault.repository(), assault.machine
    machine.text("end", cwd=project)
    place = machine.project_dir()
    for number, name in enumerate(names):
        target = machine.directory / "victim" / str(number)
        (target / "sessions").mkdir(mode=0o700, parents=True)
        target.chmod(0o700)
        for file in ("file", "marker.json", "lock", "s.json", "s.lock"):
            (target / file).write_text("a person's own")
        planted_link(target if name in ("sessions", "") else target / "file", place / name)
    before = snapshot(machine.directory / "victim")
    for boundary in ("start", "end"):
        value = {"session_id": "s", "cwd": str(project), "hook_event_name": f"Session{boundary.title()}"}
        done = hook(machine, project, boundary, value)
        refuse("crashes", done.returncode or (b"Traceback" in done.stderr and done.stderr))
        tried(len(names))
    machine.settle()
    refuse("leaks", differences(before, snapshot(machine.directory / "victim")), names)


def hook(machine: Machine, cwd: Path, boundary: str, value: object) -> subprocess.CompletedProcess[bytes]:
    return machine.gate("hook", boundary, "--client", "claude", cwd=cwd, payload=json.dumps(value).encode())


def somebody_elses(state: Path) -> None:
    os.chown(state, 12345, 12345)


def group_writable(state: Path) -> None:
    state.chmod(0o770)


def for_everybody(state: Path) -> None:
    state.chmod(0o1777)


@pytest.mark.parametrize("spoil", [somebody_elses, group_writable, for_everybody], ids=lambda way: way.__name__)
def test_a_state_that_others_could_have_written_is_refused(assault: Assault, spoil: Callable[[Path], None]) -> None:
    if spoil is somebody_elses and os.getuid() != 0:
        pytest.skip("only root can give a directory away")
    project, machine = assault.repository(), assault.machine
    machine.text("end", cwd=project)
    (project / "left.py").write_text("")
    spoil(machine.state)
    before = snapshot(machine.state)
    done = hook(machine, project, "start", {"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"})
    assert b"STATE: could not be kept" in done.stdout
    assert b"left.py" in done.stdout
    assert hook(machine, project, "end", {"session_id": "s", "hook_event_name": "SessionEnd"}).returncode == 0
    tried(2)
    machine.settle()
    marker, after = str(machine.project_dir() / "marker.json"), snapshot(machine.state)
    files = {path for path in {*before, *after} if before.get(path) != after.get(path) and not path.endswith(ENDS)}
    refuse("leaks", sorted(files - {marker, marker.replace("marker", "marker.retired"), str(machine.project_dir())}))
    assert marker not in after, "silence is not inherited"


ENDS = ("/.",)


def test_names_planted_in_the_temp_directory(assault: Assault) -> None:
    """What other users put into a shared /tmp under names that programs choose there is not touched."""
    project, machine = assault.repository(), assault.machine
    victim = machine.directory / "victim"
    victim.mkdir()
    (victim / "file").write_text("a person's own")
    for name in ("session-gate", "session-gate.log", "gate", "gate.lock", "claude", f"claude-{os.getuid()}"):
        (machine.temp / name).symlink_to(victim)
    os.mkfifo(machine.temp / "pyproject.toml")
    before = snapshot(machine.directory / "tmp") | snapshot(victim)
    for cwd in (project, machine.temp):
        for words in (("run",), ("end",)):
            done = machine.gate(*words, cwd=cwd)
            refuse("crashes", done.returncode not in (0, 1) and (words, done.stderr))
            tried(8)
    after = snapshot(machine.directory / "tmp") | snapshot(victim)
    refuse("leaks", [path for path in {*before, *after} if before.get(path) != after.get(path)])


PRIVATE = "merger-with-bigbank"


@pytest.mark.parametrize(
    "link", [".claude", ".claude/worktrees", ".worktrees", ".deepstorm", "a", ".gate", ".git/worktrees"]
)
def test_a_link_of_a_repositorys_shows_nothing_of_what_it_leads_to(assault: Assault, link: str) -> None:
    """Links are committed like files. What the user has elsewhere is not counted, nor named, nor said to be left."""
    project, machine = assault.repository(), assault.machine
    for name in ("Documents", "worktrees/Documents", ".ssh", "checks", "Documents/.git"):
        place = machine.directory / "home" / name / PRIVATE
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x" * 100_000)
        os.utime(place, (1, 1))
    (machine.directory / "home/src").mkdir()
    (machine.directory / f"home/src/{PRIVATE}").mkdir()
    (machine.directory / f"home/src/{PRIVATE}/.git").write_text("gitdir: /nowhere\n")
    (project / ".gate.toml").write_text(
        "[checks.temp_size]\nmax_files = 0\nmax_bytes = 0\npaths = ['*/.ssh', 'a/.ssh', '*/*', 'a/*/*']\n"
        "[checks.runaway_output]\nmax_file = 0\nmax_total = 0\nmax_bytes = 0\npaths = ['*/.ssh', 'a/Documents']\n"
        "[checks.old_worktrees]\nroots = ['*/*', 'a/*', '.worktrees/*', '*/*/*']\n"
        "[checks.stale_locks]\npatterns = ['*/*', 'a/*', '**/*', 'a/.ssh/*']\n"
    )
    (project / link).parent.mkdir(exist_ok=True)
    for target in ("home", "home/src"):
        (project / link).unlink(missing_ok=True)
        (project / link).symlink_to(machine.directory / target)
        for words in (("run",), ("run", "--format", "json"), ("end",), ("start",), ("status", "--format", "json")):
            done = machine.gate(*words, cwd=project)
            refuse("leaks", PRIVATE.encode() in done.stdout + done.stderr and (words, done.stdout))
            shown = re.findall(rb"[^ ,]*home/[^ ,]*", done.stdout)
            refuse("leaks", [name for name in shown if b".claude" not in name and b"config" not in name], words)
            refuse("crashes", b"check failed" in done.stdout and done.stdout)
            tried()
