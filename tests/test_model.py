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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import gate.examination
import gate.liveness
import gate.verdict
from gate import attribution, boundary, detached, files, marker, silent
from gate.attribution import Evidence, kind_of
from gate.check import Check, Context
from gate.clients import Event, claude
from gate.clock import Clock
from gate.errors import GateError
from gate.finding import Finding, Subject
from gate.liveness import Stat
from gate.project import find_project
from gate.quote import say
from gate.registry import Registered, Registry
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


@dataclass
class Session:
    """A session of the model: its owner's process, and what became of it."""

    id: str
    pid: int
    alive: bool = True
    over: bool = False
    written: float = 0.0


@dataclass
class World:
    """What the gate cannot know by itself."""

    directory: str
    now: float = 1_780_000_000.0
    boot: int = 1
    things: dict[str, Thing] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    processes: dict[int, int] = field(default_factory=dict)
    configuration: list[str] = field(default_factory=lambda: ["one"])
    queue: list[tuple[str, str, int]] = field(default_factory=list)
    started: int = 0

    def site(self) -> Site:
        environ = {"HOME": self.directory, "SESSION_GATE_CONFIG": os.path.join(self.directory, "none.toml")}
        clock = Clock(self.now, f"boot-{self.boot}")
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
        subjects = [Subject(t.name, t.name, t.changed, worktree=self.directory) for t in self.things.values()]
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
        self.patches.enter_context(mock.patch.object(gate.examination, "load", return_value=registry))
        self.patches.enter_context(mock.patch.object(Site, "stamp", self.stamp))
        for module in (silent, boundary):
            self.patches.enter_context(mock.patch.object(module, "follow", self.follow))
        self.patches.enter_context(mock.patch.object(silent, "_awake", lambda name: {"boundary": boundary}[name]))
        self.patches.enter_context(mock.patch.object(boundary, "FINISHER_PATIENCE", 0.0))
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

    @rule(session=consumes(living))
    def kill(self, session: Session) -> None:
        if session.alive and not session.over:
            self.death_of(session)

    def death_of(self, session: Session) -> None:
        session.alive = False
        session.over = True
        self.world.processes.pop(session.pid, None)

    @rule(session=consumes(living))
    def kill_and_recycle_the_pid(self, session: Session) -> None:
        if session.alive and not session.over:
            session.over, session.alive = True, False
            self.world.processes[session.pid] += 10_000

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
            self.kept |= {
                name: thing.changed
                for name, thing in self.world.things.items()
                if thing.maker == "person" and thing.changed <= record.written
            }

    @precondition(lambda self: self.world.queue)
    @rule()
    def detached_processes_are_killed(self) -> None:
        self.drop_queue()

    def meanwhile(self, kind: str) -> None:
        """Let something happen while the next suite runs, after it has looked."""

        def happen() -> None:
            session = next((s for s in self.world.sessions.values() if s.alive and not s.over), None)
            if kind == "another suite" and self.world.queue:
                self.work(0)
            elif kind == "an end" and session is not None:
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

    @rule()
    def gate_start_by_hand(self) -> None:
        due = self.due()
        site = self.world.site()
        self.world.calling = 1
        look = site.look()
        judged = site.judge(look, None)
        text = boundary.start_by_hand(site, look, judged, None) if judged.kind != GREEN else ""
        self.check_text(text, due)

    @rule()
    def gate_end_by_hand(self) -> None:
        self.world.calling = 1
        boundary.end_by_hand(self.world.site())

    # What the world does

    @rule(days=st.sampled_from([0.1, 1.0, 8.0]))
    def time_passes(self, days: float) -> None:
        self.world.now += days * DAY

    @rule()
    def the_machine_reboots(self) -> None:
        self.world.boot += 1
        self.drop_queue()
        self.world.processes.clear()
        for session in self.world.sessions.values():
            session.over, session.alive = True, False

    @rule()
    def the_configuration_changes(self) -> None:
        self.world.configuration = [f"c{time.time_ns()}"]

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
        look = self.world.site().look()
        for finding in look.marker.data["findings"] if look.marker is not None else []:
            if finding["kind"] == "debt":
                for name in self.kept:
                    assert name not in finding["summary"]


SETTINGS = settings(max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
HUNT = settings(SETTINGS, max_examples=400, database=None, phases=[Phase.generate])
Boundary.TestCase.settings = SETTINGS
TestBoundary = Boundary.TestCase


def whole_worktrees_are_deferred(subject: Subject, evidence: Evidence) -> str:
    return "deferred" if evidence.living else kind_of(subject, evidence)


def baselines_launder(subject: Subject, evidence: Evidence) -> str:
    return kind_of(subject, replace(evidence, debts=frozenset()))


def only_the_last_baseline_counts(subject: Subject, evidence: Evidence) -> str:
    return kind_of(subject, replace(evidence, baselines=evidence.baselines[-1:]))


def everything_is_charged(subject: Subject, evidence: Evidence) -> str:
    return kind_of(subject, replace(evidence, notes={}, baselines=[]))


MUTANTS: dict[str, tuple[object, str, object]] = {
    "whole worktrees are deferred": (attribution, "kind_of", whole_worktrees_are_deferred),
    "a baseline launders debt": (attribution, "kind_of", baselines_launder),
    "only the last baseline counts": (attribution, "kind_of", only_the_last_baseline_counts),
    "everything is charged": (attribution, "kind_of", everything_is_charged),
    "an older suite writes over a newer one": (marker, "_began_later", lambda *_: False),
    "the dead are not looked for": (gate.verdict, "is_gone", lambda *_: False),
    "an end that is not complete is green": (gate.verdict, "PENDING", GREEN),
    "a reboot changes nothing": (Clock, "boot", "the-boot"),
    "a pid is enough": (gate.liveness.Owner, "started", property(lambda _: 0, lambda *_: None)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_model_finds_what_breaks_the_property(name: str) -> None:
    module, attribute, mutant = MUTANTS[name]
    with mock.patch.object(module, attribute, mutant), pytest.raises(AssertionError):
        run_state_machine_as_test(
            Boundary, settings=settings(SETTINGS, max_examples=400, database=None, phases=[Phase.generate])
        )
