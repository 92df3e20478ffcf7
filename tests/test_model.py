"""A model of sessions, people and accidents, run against the real start, end, finisher and marker.

After every step: nothing that an ended session left goes unseen, and nothing that a person kept is charged to anybody.
Only the outermost world is made up: the clock, the boot, the life of processes, and one check whose subjects the model
makes and clears.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    precondition,
    rule,
)

import gate.ledger
import gate.report
import gate.sessions
import gate.survey
import gate.verdict
from gate import attribution, boundary, detached, files, marker, silent
from gate.attribution import Evidence, key_of, kind_of
from gate.check import Check, Context
from gate.clients import Event, claude
from gate.clock import Clock
from gate.errors import GateError
from gate.finding import Finding, Subject
from gate.liveness import Owner, Place, Stat
from gate.project import find_project
from gate.quote import say
from gate.registry import Registered, Registry
from gate.report import Report
from gate.site import Site
from gate.verdict import GREEN

DAY = 86400.0
MOST = 8
"""Things at a time: as many as a finding names."""
interludes = st.sampled_from(["", "", "another suite", "an end", "a death", "by hand"])


@dataclass
class Thing:
    """A subject of the made-up check: who left it, and when it last changed."""

    name: str
    maker: str
    changed: float
    touched: float = 0.0
    """When its time was changed, and nothing in it: by a backup, by a link to it."""


@dataclass
class Session:
    """A session of the model: its owner's process, and what became of it."""

    id: str
    pid: int
    alive: bool = True
    over: bool = False
    written: float = 0.0
    lost: bool = False
    """Its record never reached the disk: the machine crashed within the first moment of the session."""


class ModelClock(Clock):
    """A clock of a boot that began when the model says so."""

    def __init__(self, now: float, boot: str, booted: float) -> None:
        super().__init__(now, boot)
        self.booted = booted

    def since_boot(self) -> float:
        return time.time() - self.booted


@dataclass
class World:
    """What the gate cannot know by itself."""

    directory: str
    now: float = 1_780_000_000.0
    boot: int = 1
    booted: float = field(default_factory=lambda: time.time() - 1000.0)
    things: dict[str, Thing] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    processes: dict[int, int] = field(default_factory=dict)
    configuration: list[str] = field(default_factory=lambda: ["one"])
    queue: list[tuple[str, str, int]] = field(default_factory=list)
    started: int = 0

    def site(self) -> Site:
        environ = {"HOME": self.directory}
        clock = ModelClock(self.now, f"boot-{self.boot}", self.booted)
        return Site(find_project(self.directory), environ, clock, os.path.join(self.directory, "state"), self.stat)

    def stat(self, pid: int) -> Stat | None:
        if pid == os.getpid():
            return Stat("hook", "S", self.calling, 1)
        started = self.processes.get(pid)
        return None if started is None else Stat("claude", "S", 1, started)

    calling: int = 1
    interlude: Callable[[], None] | None = None
    """What happens while a suite runs, after it has looked."""

    def find(self, _: Context[Any]) -> Iterable[Finding]:
        subjects = [
            Subject(t.name, t.name, max(t.changed, t.touched), repr(t.changed), worktree=self.directory)
            for t in self.things.values()
        ]
        interlude, self.interlude = self.interlude, None
        if interlude is not None:
            interlude()
        if subjects:
            yield Finding("things", lambda chosen: say("left: {}", chosen.names), subjects)


def check(world: World) -> Check:
    return Check("things", "THING", "# Things\nwere left behind by somebody.", "", world.find, keeps=True)


class Boundary(RuleBasedStateMachine):
    """Every rule is something that happens; `living` holds sessions that have not ended."""

    living = Bundle("living")

    def __init__(self) -> None:
        super().__init__()
        self.world = World(os.path.realpath(tempfile.mkdtemp(prefix="gate-model-")))
        self.kept: dict[str, float] = {}
        self.patches = contextlib.ExitStack()
        registry = Registry([Registered(check(self.world), "model")], [])
        self.patches.enter_context(mock.patch.object(gate.survey, "load", return_value=registry))
        self.patches.enter_context(mock.patch.object(Site, "stamp", self.stamp))
        for module in (silent, boundary):
            self.patches.enter_context(mock.patch.object(module, "follow", self.follow))
        self.patches.enter_context(mock.patch.object(silent, "_awake", lambda name: {"boundary": boundary}[name]))
        self.patches.enter_context(mock.patch.object(boundary, "FINISHER_PATIENCE", 0.0))
        self.patches.enter_context(mock.patch.object(gate.sessions, "TICK", 0.0))  # here all times are of one clock
        self.patches.enter_context(mock.patch.object(detached, "OWNER_PATIENCE", 0.0))
        self.patches.enter_context(mock.patch.object(detached, "UNTOLD_PATIENCE", 0.0))

    def teardown(self) -> None:
        self.drop_queue()
        self.patches.close()
        shutil.rmtree(self.world.directory)

    def stamp(self) -> list[str]:
        return list(self.world.configuration)

    def follow(self, site: Site, task: str, session: str, keep: int = -1, baseline: bool = False) -> bool:
        self.world.queue.append((task, session, os.dup(keep) if keep >= 0 else -1))
        if keep >= 0:
            os.close(keep)
        return True

    def drop_queue(self) -> None:
        for _, _, fd in self.world.queue:
            if fd >= 0:
                os.close(fd)
        self.world.queue.clear()

    def begin(self) -> Session:
        """For a script: a green project, and a session in it whose baseline is taken."""
        self.by_hand(command="end", interlude="")
        session = self.start(source="startup", interlude="")
        self.work(0)
        return session

    def look_again(self) -> None:
        """For a script: a new session starts, and must be told what is due."""
        self.green_means_that_nothing_is_left()
        self.start(source="startup", interlude="")

    # What sessions do

    def call(self, session: Session, name: str, source: str = "startup", reason: str = "other") -> str:
        self.world.calling = session.pid if session.alive else 1
        event = Event(name, session.id, [self.world.directory], source, reason, "")
        site = self.world.site()
        if name == "SessionStart":
            return silent.start(site, claude, event)
        silent.end(site, claude, event)
        return ""

    @rule(target=living, source=st.sampled_from(["startup", "startup", "resume"]), interlude=interludes)
    def start(self, source: str, interlude: str) -> Session:
        self.world.started += 1
        pid = 1000 + self.world.started
        session = Session(f"s{self.world.started}", pid)
        self.world.processes[pid] = self.world.started
        session.written = time.time()
        due, green = self.due(), self.judge() == GREEN
        self.meanwhile(interlude)
        text = self.call(session, "SessionStart", source)
        self.world.interlude = None
        self.check_text(text, due)
        if green:
            assert text == "" or "is gone" in text
        self.world.sessions[session.id] = session
        return session

    @rule(session=consumes(living))
    def end(self, session: Session) -> None:
        if session.alive and not session.over:
            self.end_of(session)

    def end_of(self, session: Session) -> None:
        self.call(session, "SessionEnd")
        session.over = True
        session.alive = False
        self.world.processes.pop(session.pid, None)

    @rule(session=consumes(living), recycled=st.booleans())
    def die(self, session: Session, recycled: bool) -> None:
        """Killed, without an end; its pid may go to another program."""
        if session.alive and not session.over:
            started = self.world.processes[session.pid]
            self.death_of(session)
            if recycled:
                self.world.processes[session.pid] = started + 10_000

    def death_of(self, session: Session) -> None:
        session.alive = False
        session.over = True
        self.world.processes.pop(session.pid, None)

    @rule(session=living, target=living)
    def clear(self, session: Session) -> Session:
        if session.over or not session.alive:
            return session
        self.call(session, "SessionEnd", reason="clear")
        self.world.started += 1
        after = Session(f"s{self.world.started}", session.pid)
        self.call(after, "SessionStart", "clear")
        session.over, session.alive = True, False
        self.world.sessions[after.id] = after
        return after

    @rule(session=living)
    def compact(self, session: Session) -> None:
        if session.alive and not session.over:
            self.call(session, "SessionStart", "compact")

    @precondition(lambda self: len(self.world.things) < MOST)
    @rule(session=living)
    def leave_something(self, session: Session) -> None:
        if session.alive and not session.over:
            self.leave(session)

    def leave(self, session: Session) -> None:
        name = f"t{time.time_ns()}-{session.id}"
        self.world.things[name] = Thing(name, session.id, time.time())

    @rule(session=living, data=st.data())
    def change_what_a_person_kept(self, session: Session, data: st.DataObject) -> None:
        names = [name for name, thing in self.world.things.items() if thing.maker == "person"]
        if names and session.alive and not session.over:
            thing = self.world.things[data.draw(st.sampled_from(names))]
            thing.maker, thing.changed = session.id, time.time()
            self.kept.pop(thing.name, None)

    # What happens afterwards, or does not

    @precondition(lambda self: self.world.queue)
    @rule(data=st.data(), interlude=interludes)
    def a_detached_process_does_its_work(self, data: st.DataObject, interlude: str) -> None:
        index = data.draw(st.integers(0, len(self.world.queue) - 1))
        self.meanwhile(interlude)
        self.work(index)
        self.world.interlude = None

    def work(self, index: int) -> None:
        task, session, fd = self.world.queue.pop(index)
        site = self.world.site()
        green = site.judge(site.look(), session).kind == GREEN
        with contextlib.suppress(GateError):
            getattr(detached, {"finish": "finish", "complete": "complete"}[task])(site, session)
        if fd >= 0:
            files.remove(site.state.ledger.lock_path(session) if task == "finish" else "")
            os.close(fd)
        record = self.world.sessions.get(session.partition("--")[0])
        if task == "complete" and green and record is not None and record.alive and not record.over:
            charged = self.charged()  # by somebody who looked by hand before there was a baseline
            self.kept |= {
                name: thing.changed
                for name, thing in self.world.things.items()
                if thing.maker == "person" and thing.changed <= record.written and name not in charged
            }

    def meanwhile(self, kind: str) -> None:
        """Let something happen while the next suite runs, after it has looked."""

        def happen() -> None:
            session = next((s for s in self.world.sessions.values() if s.alive and not s.over), None)
            if kind == "another suite" and self.world.queue:
                self.work(0)
            elif kind == "an end" and session is not None:
                self.leave(session)
                self.end_of(session)
                self.work(len(self.world.queue) - 1)
            elif kind == "a death" and session is not None:
                self.death_of(session)
            elif kind == "by hand":
                boundary.end_by_hand(self.world.site())

        self.world.interlude = happen if kind else None

    # What people do

    @precondition(lambda self: len(self.world.things) < MOST and not any(s.alive for s in self.world.sessions.values()))
    @rule()
    def a_person_works(self) -> None:
        name = f"p-{time.time_ns()}"
        self.world.things[name] = Thing(name, "person", time.time())

    @precondition(lambda self: self.world.things)
    @rule(data=st.data())
    def something_is_cleared(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.world.things)))
        del self.world.things[name]
        self.kept.pop(name, None)

    @rule(command=st.sampled_from(["start", "end"]), interlude=interludes)
    def by_hand(self, command: str, interlude: str) -> None:
        self.world.calling = 1
        site = self.world.site()
        self.meanwhile(interlude)
        if command == "end":
            boundary.end_by_hand(site)
            return
        due, look = self.due(), site.look()
        judged = site.judge(look, None)
        text = boundary.start_by_hand(site, look, judged, None) if judged.kind != GREEN else ""
        self.world.interlude = None
        self.check_text(text, due)

    # What the world does

    @rule(kind=st.sampled_from(["hours", "days", "weeks", "killed", "reboot", "crash", "configuration"]))
    def accident(self, kind: str) -> None:
        world = self.world
        world.now += {"hours": 0.1, "days": 1.0, "weeks": 8.0}.get(kind, 0.0) * DAY
        if kind == "configuration":
            world.configuration = [f"c{time.time_ns()}"]
        begun = [session for task, session, _ in world.queue if task == "complete" and kind == "crash"]
        if kind in ("killed", "reboot", "crash"):
            self.drop_queue()
        if kind in ("reboot", "crash"):
            self.go_down(lost=begun)

    def go_down(self, lost: Collection[str] = ()) -> None:
        """The machine goes down; what the sessions `lost` last wrote had not reached the disk."""
        ledger = self.world.site().state.ledger
        for session in self.world.sessions.values():
            if session.alive and session.id in lost:
                ledger.remove(session.id)
                session.lost = True
            session.over, session.alive = True, False
        self.world.boot += 1
        self.world.booted = time.time()
        self.world.processes.clear()

    # What must hold

    def judge(self) -> str:
        site = self.world.site()
        return site.judge(site.look(), None).kind

    def due(self) -> list[Thing]:
        """What sessions left that are over, and which no other living session can be thought to work on."""
        working = [s.written for s in self.world.sessions.values() if s.alive and not s.over]
        return [
            thing
            for thing in self.world.things.values()
            if thing.maker != "person"
            and self.world.sessions[thing.maker].over
            and not self.world.sessions[thing.maker].lost
            and not any(written < thing.changed for written in working)
        ]

    def check_text(self, text: str, due: list[Thing]) -> None:
        for thing in due:
            assert thing.name in text or "unchanged since" in text, (text, thing)
        if due:
            assert text

    @invariant()
    def green_means_that_nothing_is_left(self) -> None:
        if self.judge() == GREEN:
            assert self.due() == []

    @invariant()
    def what_a_person_kept_is_not_charged(self) -> None:
        charged = self.charged()
        assert [name for name in self.kept if name in charged] == []

    def charged(self) -> str:
        """What the marker charges somebody with."""
        marker = self.world.site().look().marker
        findings = marker.data["findings"] if marker is not None else []
        return " ".join(finding["summary"] for finding in findings if finding["kind"] == "debt")


Boundary.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestBoundary = Boundary.TestCase


# Scripts: each is one way to lose or to charge something, and fails as soon as what prevents it is taken away.


def a_suite_is_overtaken(machine: Boundary) -> None:
    """A suite has looked; a session leaves something, ends, and its finisher writes; then the first one writes."""
    machine.begin()
    machine.by_hand(command="end", interlude="an end")
    machine.look_again()


def a_person_works_between_two_sessions(machine: Boundary) -> None:
    """A green start with a person's work already there; its session ends."""
    machine.by_hand(command="end", interlude="")
    machine.a_person_works()
    session = machine.start(source="startup", interlude="")
    machine.work(0)
    assert machine.kept
    machine.end(session=session)
    machine.work(0)
    machine.what_a_person_kept_is_not_charged()


def one_of_two_ends(machine: Boundary) -> None:
    """What the first of two sessions left before the second began is answered for when the first ends."""
    first = machine.begin()
    machine.leave(first)
    machine.start(source="startup", interlude="")
    machine.work(0)
    machine.end(session=first)
    machine.work(0)
    machine.look_again()


def the_first_of_two_leaves_what_is_touched_again(machine: Boundary) -> None:
    """What the first left before the second began is touched once more; the first ends, then the second."""
    first = machine.begin()
    machine.leave(first)
    second = machine.start(source="startup", interlude="")
    machine.work(0)
    for thing in machine.world.things.values():
        thing.touched = time.time()
    machine.end(session=first)
    machine.work(0)
    machine.end(session=second)
    machine.work(0)
    machine.look_again()


def a_session_dies(machine: Boundary) -> None:
    first = machine.begin()
    machine.leave(first)
    machine.die(session=first, recycled=False)
    machine.look_again()


def a_session_dies_and_its_pid_is_recycled(machine: Boundary) -> None:
    first = machine.begin()
    machine.leave(first)
    machine.die(session=first, recycled=True)
    machine.look_again()


def a_finisher_is_killed(machine: Boundary) -> None:
    first = machine.begin()
    machine.leave(first)
    machine.end(session=first)
    machine.accident(kind="killed")
    machine.look_again()


def the_machine_crashes(machine: Boundary) -> None:
    """After the restart another program has the session's pid, and the same age."""
    first = machine.begin()
    machine.leave(first)
    alike = dict(machine.world.processes)
    machine.accident(kind="crash")
    machine.world.processes |= alike
    machine.look_again()


def a_person_works_and_restarts(machine: Boundary) -> None:
    """No session ran since the marker: what changed before the restart is a person's."""
    machine.by_hand(command="end", interlude="")
    machine.a_person_works()
    machine.accident(kind="reboot")
    machine.kept = {name: thing.changed for name, thing in machine.world.things.items()}
    session = machine.start(source="startup", interlude="")
    machine.what_a_person_kept_is_not_charged()
    machine.end(session=session)
    machine.work(0)
    machine.what_a_person_kept_is_not_charged()


def whole_worktrees_are_deferred(subject: Subject, evidence: Evidence) -> str:
    return "deferred" if evidence.living else kind_of(subject, evidence)


def all_is_taken_in(report: Report, _written: float, _looked: object = None) -> dict[str, dict[str, str]]:
    return {check: {key_of(s): s.fingerprint for s, _ in subjects} for check, subjects in report.seen.items()}


def everything_is_charged(subject: Subject, evidence: Evidence) -> str:
    return kind_of(subject, evidence._replace(notes={}, baselines=[]))


def a_pid_is_enough(owner: Owner | None, _there: Place, _here: Place, stat: Callable[[int], Stat | None]) -> bool:
    return owner is not None and stat(owner.pid) is not None


@pytest.mark.parametrize(
    ("script", "mutant"),
    [
        (a_suite_is_overtaken, (marker, "_began_later", lambda *_: False)),
        (a_person_works_between_two_sessions, (attribution, "kind_of", everything_is_charged)),
        (one_of_two_ends, (attribution, "kind_of", whole_worktrees_are_deferred)),
        (the_first_of_two_leaves_what_is_touched_again, (Report, "baseline", all_is_taken_in)),
        (a_session_dies, (gate.verdict, "is_gone", lambda *_: False)),
        (a_session_dies_and_its_pid_is_recycled, (gate.ledger, "is_alive", a_pid_is_enough)),
        (a_finisher_is_killed, (gate.verdict, "PENDING", GREEN)),
        (the_machine_crashes, (gate.ledger, "is_alive", a_pid_is_enough)),
        (a_person_works_and_restarts, (gate.report, "_quiet", lambda *_: None)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_script_passes_and_a_mutant_does_not(
    script: Callable[[Boundary], None], mutant: tuple[object, str, object]
) -> None:
    with contextlib.closing(Played(script)) as played:
        played.play()
    with mock.patch.object(*mutant), contextlib.closing(Played(script)) as played, pytest.raises(AssertionError):
        played.play()


class Played:
    """A script played on a machine of its own."""

    def __init__(self, script: Callable[[Boundary], None]) -> None:
        self.machine = Boundary()
        self.script = script

    def play(self) -> None:
        self.script(self.machine)

    def close(self) -> None:
        self.machine.teardown()
