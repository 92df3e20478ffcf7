"""SESSION: clients' records of sessions whose process is gone, as the clients write them; and those that hold."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gate_checks import dead_sessions

from gate.attribution import Baseline, Evidence, Living, attribute
from gate.errors import UnknownError
from gate.finding import DEBT, DEFERRED, NOTE, UNKNOWN
from gate.liveness import Place
from gate.quote import say
from gate.testing import World, run_check, said
from gate.world import session_records
from gate.world.session_records import Here

CHECK = dead_sessions.gate_check()
DAY = 86400.0
HERE = Here("0f1e", Place.current("").namespace or "pid:[4026531836]")
DOMAIN = f"linux:{HERE.machine}:{HERE.namespace}"
ID = "96986e70-1804-44b6-95d7-f37d8eb7591d"
GONE = "claude has these sessions as running, and their processes are gone: 96986e70"


@pytest.fixture(autouse=True)
def _on_a_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests run, it is the machine itself, and no container."""
    monkeypatch.setattr(Here, "current", lambda: HERE)
    monkeypatch.setattr(session_records, "_HOST_NAMESPACE", HERE.namespace)


def claude(world: World, age: float = 2 * DAY, name: str = "19106.json", home: str = ".claude", **more: Any) -> Path:
    """A record as Claude Code 2.1.332 writes it, of a session in the project; nothing where a value is None."""
    value = {
        "pid": 19106,
        "sessionId": ID,
        "cwd": str(world.root),
        "startedAt": int((world.clock.now() - age - 60) * 1000),
        "procStart": "2262767",
        "version": "2.1.332",
        "kind": "interactive",
        "entrypoint": "cli",
        "pidDomain": DOMAIN,
        "name": "project-dc",
        "status": "busy",
    }
    text = json.dumps({key: field for key, field in {**value, **more}.items() if field is not None})
    return Path(world.file(str(world.home / home / "sessions" / name), text, age))


def in_the_background(world: World, state: str = "working", age: float = 2 * DAY) -> Path:
    """A worker as Claude Code 2.1.332 puts it into its roster, and the state of its job."""
    worker = {"pid": 4459, "procStart": "2326044", "sessionId": ID, "startedAt": 1796059545034, "cwd": str(world.root)}
    value = {"proto": 1, "supervisorPid": 4452, "updatedAt": 1796059546146, "workers": {"8bc47677": worker}}
    world.file(str(world.home / ".claude/jobs/8bc47677/state.json"), json.dumps({"state": state, "sessionId": ID}))
    return Path(world.file(str(world.home / ".claude/daemon/roster.json"), json.dumps(value), age))


def copilot(world: World, pid: int = 59, age: float = 2 * DAY, hold: bool = True, home: str = ".copilot") -> Path:
    """What Copilot CLI 1.0.102 leaves in a session's directory."""
    folder = world.home / home / "session-state" / ID
    files = {"workspace.yaml": f"id: {ID}\ncwd: {world.root}\nbranch: main\n", "events.jsonl": "{}\n"}
    files |= {f"inuse.{pid}.lock": f"{pid}\n", **({f"inuse.{pid}.hold": ""} if hold else {})}
    for name, text in files.items():
        world.file(str(folder / name), text, age)
    return folder


def living(world: World, pid: int = 19106, ticks: int | None = 2262767, state: str = "S", age: float = 3 * DAY) -> None:
    process = world.processes.add("claude", pid=pid, state=state, age=age)
    world.processes._made[pid] = process._replace(ticks=ticks)


def show(value: object) -> str:
    """As a finding shows it: quoted and cut where it is long."""
    return str(say("{}", str(value)))


def found(world: World, **options: Any) -> list[tuple[str, str]]:
    return [(finding.kind, said(finding)) for finding in run_check(CHECK, world, **options)]


def killed(world: World) -> None:
    """Seen with the real client: it stays after a SIGKILL."""
    claude(world)


def of_an_older_client(world: World) -> None:
    """2.1.197 writes neither a status nor a place."""
    claude(world, status=None, pidDomain=None)


def whose_pid_went_to_another(world: World) -> None:
    claude(world)
    living(world, ticks=9999999)


def a_zombie(world: World) -> None:
    """A signal of 0 says that it lives."""
    claude(world)
    living(world, state="Z")


def from_a_worktree_that_is_gone(world: World) -> None:
    claude(world, cwd=str(world.root / ".claude/worktrees/task"))


def in_a_directory_of_ones_own(world: World) -> None:
    claude(world, home="elsewhere")
    world.environ["CLAUDE_CONFIG_DIR"] = str(world.home / "elsewhere")


def named_twice(world: World) -> None:
    claude(world)
    world.environ["CLAUDE_CONFIG_DIR"] = str(world.home / ".claude")
    in_the_background(world)


def taken_up_again_and_killed_too(world: World) -> None:
    claude(world)
    claude(world, name="20000.json", pid=20000)


DEAD = (
    killed, of_an_older_client, whose_pid_went_to_another, a_zombie, from_a_worktree_that_is_gone,
    in_a_directory_of_ones_own, named_twice, taken_up_again_and_killed_too,
)  # fmt: skip


@pytest.mark.parametrize("state", DEAD, ids=lambda state: state.__name__)
def test_a_record_whose_process_is_gone_is_debt(state: Callable[[World], None], world: World) -> None:
    state(world)
    assert found(world) == [(DEBT, GONE)]


def test_what_is_said_of_it(world: World) -> None:
    path = claude(world)
    (finding,) = run_check(CHECK, world)
    (subject,) = finding.subjects
    assert str(subject.detail) == (
        f"{ID} in {show(world.root)}: busy, last sign of life 48 h ago, process 19106 is gone; {show(path)}"
    )
    assert (subject.name, subject.tag, subject.worktree) == (ID, ID, None)
    assert subject.changed == pytest.approx(world.clock.now() - 2 * DAY, abs=1)
    remedy = str(finding.remedy)
    assert remedy.startswith(f"ls -l {path} and ps -p 19106 show it; claude --resume {ID} takes the conversation up; ")
    assert not any(word in remedy.replace(str(path), "").replace(ID, "") for word in ("rm ", "kill", "-f", "*"))


def test_several_are_one_finding(world: World) -> None:
    for number in range(12):
        claude(world, name=f"{500 + number}.json", pid=500 + number, sessionId=f"{number:08}-1804")
    ((kind, text),) = found(world)
    assert kind == DEBT
    assert text.startswith("claude has these sessions as running, and their processes are gone: 00000000, ")
    assert text.endswith(" and 2 more")


def test_a_session_in_the_background(world: World) -> None:
    in_the_background(world)
    (finding,) = run_check(CHECK, world)
    text = "claude's background service has these sessions as running, and their processes are gone: 96986e70"
    assert (finding.kind, said(finding)) == (DEBT, text)
    assert f"; claude agents starts that service again, which then calls {ID} failed; " in str(finding.remedy)


def test_a_session_of_any_name_is_nothing_that_a_shell_would_run(world: World) -> None:
    claude(world, sessionId="$(touch x); y")
    (finding,) = run_check(CHECK, world)
    assert "; claude --resume '$(touch x); y' takes the conversation up; " in str(finding.remedy)


@pytest.mark.parametrize("hold", [True, False])
@pytest.mark.parametrize("variable", [None, "COPILOT_HOME"])
def test_a_session_of_copilots(hold: bool, variable: str | None, world: World) -> None:
    """Incident: 8 of 184 could not be opened until such a file was removed."""
    copilot(world, hold=hold, home="elsewhere" if variable else ".copilot")
    if variable:
        world.environ[variable] = str(world.home / "elsewhere")
    (finding,) = run_check(CHECK, world)
    assert said(finding) == "copilot has these sessions as running, and their processes are gone: 96986e70"
    assert f"copilot --resume={ID} takes it up" in str(finding.remedy)


def no_client(world: World) -> None:
    pass


def one_that_runs(world: World) -> None:
    claude(world)
    living(world)


def one_that_died_a_moment_ago(world: World) -> None:
    """The client's next start may take it away before its hooks run."""
    claude(world, age=23 * 3600)
    in_the_background(world, age=23 * 3600)
    copilot(world, age=23 * 3600)


def one_that_is_taken_up_again(world: World) -> None:
    claude(world)
    claude(world, age=60, name="20000.json", pid=20000, procStart="777")
    living(world, pid=20000, ticks=777)


def one_whose_words_say_that_it_is_over(world: World) -> None:
    for number, status in enumerate(("done", "ended", "stopped", "completed", "failed")):
        claude(world, name=f"{500 + number}.json", pid=500 + number, status=status)


def no_sessions(world: World) -> None:
    claude(world, spare=True)
    claude(world, name="500.json", pid=500, kind="daemon")
    claude(world, name="501.json", pid=501, kind="daemon-worker")
    claude(world, name="502.json", pid=502, sessionId=None)
    in_the_background(world, state="done")


def ones_that_cannot_be_placed(world: World) -> None:
    """Incident: a container that shared the directory took every session of the host for dead."""
    domains = (f"linux:ffff:{HERE.namespace}", f"linux:{HERE.machine}:pid:[1]", "darwin", "win32:host")
    for number, domain in enumerate(domains):
        claude(world, name=f"{500 + number}.json", pid=500 + number, pidDomain=domain, sessionId=f"{number}")
    claude(world, name="600.json", pid=600, pidDomain=None, procStart=None, sessionId="x")
    claude(world, name="601.json", pid=601, procStart="Wed Aug 26 10:25:14 2026", sessionId="y")


def ones_in_a_container_seen_from_outside(world: World) -> None:
    """There it has another pid; it began when the record says."""
    claude(world, pidDomain=None)
    living(world, pid=3000)
    in_the_background(world)
    living(world, pid=3001, ticks=2326044)


def a_record_of_an_older_kind(world: World) -> None:
    """Of these 78 lay on one machine (herdrdev/herdr#3414); nobody reads them."""
    world.file(str(world.home / ".claude/sessions/pid-500.json"), '{"session_id":"x","cwd":"/"}', 9 * DAY)


def a_key_beside_it(world: World) -> None:
    world.file(str(world.home / f".claude/sessions/500.{'0' * 64}.key"), '{"procStart":"1"}', 9 * DAY)


def a_pipe(world: World) -> None:
    (world.home / ".claude/sessions").mkdir(parents=True)
    os.mkfifo(world.home / ".claude/sessions/500.json")
    world.age(world.home / ".claude/sessions/500.json", 9 * DAY)


def half_a_record_that_is_being_written(world: World) -> None:
    world.file(str(world.home / ".claude/sessions/500.json"), '{"pid":50', 5)


SILENT = (
    no_client, one_that_runs, one_that_died_a_moment_ago, one_that_is_taken_up_again,
    one_whose_words_say_that_it_is_over, no_sessions, ones_that_cannot_be_placed,
    ones_in_a_container_seen_from_outside, a_record_of_an_older_kind, a_key_beside_it, a_pipe,
    half_a_record_that_is_being_written,
)  # fmt: skip


@pytest.mark.parametrize("state", SILENT, ids=lambda state: state.__name__)
def test_what_is_not_spoken_of(state: Callable[[World], None], world: World) -> None:
    state(world)
    assert found(world) == []


@pytest.fixture
def held(world: World) -> Iterator[World]:
    """A session of Copilot's that holds its lock, by a process that cannot be seen from here."""
    fd = os.open(copilot(world) / "inuse.59.hold", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield world
    finally:
        os.close(fd)


def test_a_session_of_copilots_that_holds_its_lock_runs(held: World) -> None:
    assert found(held) == []


def test_a_session_of_copilots_whose_process_is_there_runs(world: World) -> None:
    copilot(world, hold=False)
    living(world, pid=59, ticks=None)
    assert found(world) == []


@pytest.mark.parametrize("hold", [True, False])
def test_in_a_container_only_the_lock_of_copilots_tells(
    hold: bool, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_records, "_HOST_NAMESPACE", "pid:[1]")
    copilot(world, hold=hold)
    assert len(found(world)) == hold


def test_a_variable_that_is_not_set_is_no_directory(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)
    claude(world, home=str(world.root / "$CLAUDE_CONFIG_DIR"))
    assert found(world) == []


def test_a_busy_session_of_copilots_shows_in_its_events(world: World) -> None:
    """The lock's own time is that of the session's start (github/copilot-cli#3085)."""
    folder = copilot(world, age=9 * DAY)
    world.age(folder / "events.jsonl", 3600)
    assert found(world) == []


def test_those_of_other_projects_are_a_note(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.root)
    claude(world, cwd=str(world.directory / "other"))
    (world.directory / "other").mkdir()
    claude(world, name="500.json", pid=500, cwd="relative", sessionId="x")
    claude(world, name="501.json", pid=501, cwd=None, sessionId="y")
    ((kind, text),) = found(world)
    assert kind == NOTE
    assert text.startswith("dead sessions of other projects are recorded as running: ")
    assert show(str(world.directory / "other")) in text


@pytest.mark.parametrize("text", ['{"pid":50', "", "[]", '{"pid":501}', "\0\0\0", "[" * 5000], ids=range(6))
def test_what_is_no_record_is_a_note(text: str, world: World) -> None:
    path = world.file(str(world.home / ".claude/sessions/500.json"), text, 2 * DAY)
    assert found(world) == [(NOTE, f"no records of sessions, though they are called so: {show(path)}")]


def test_a_directory_that_cannot_be_read_is_unknown(world: World) -> None:
    ((kind, text),) = found(world, claude=("/" + "x" * 300,))
    assert kind == UNKNOWN
    assert text.startswith("no records of sessions were looked for, or not to the end, in ")
    assert text.endswith(": File name too long")


def test_no_time_is_unknown_and_what_was_seen_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        claude(world, name=f"{500 + number}.json", pid=500 + number, sessionId=f"{number}")
    context = world.context(CHECK)
    left = iter([10.0] * 30)
    monkeypatch.setattr(type(context), "time_left", lambda _: next(left, 1.0))
    findings = list(CHECK.run(context))
    context.git.close()
    assert [finding.kind for finding in findings] == [DEBT, UNKNOWN]
    assert len(findings[0].subjects) < 20
    assert "the time was over" in str(findings[1].summarise(()))


def test_a_hidden_process_table_is_unknown(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    claude(world, age=60)

    def hidden(_: object) -> None:
        raise UnknownError("/proc hides the process table")

    monkeypatch.setattr(type(world.processes), "snapshot", property(hidden))
    assert found(world) == [], "it is asked only for what is old enough"
    claude(world)
    with pytest.raises(UnknownError, match="hides"):
        run_check(CHECK, world)


def test_whose_it_is(world: World) -> None:
    claude(world)
    (finding,) = run_check(CHECK, world)
    ended = Evidence(baselines=[Baseline({}, written=0.0)], ended=True, keeps=False)
    assert [part.kind for part in attribute(finding, ended)] == [DEBT]
    alive = Living(id=ID, written=0.0, worktree=str(world.root))
    assert [part.kind for part in attribute(finding, ended._replace(living=[alive]))] == [DEFERRED]
