"""SESSION: clients' records of sessions that say "running" long after their process has gone."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gate.api import (  # isort: skip
    BACKGROUND, CLAUDE, COPILOT, NOTE, UNKNOWN, Check, Chosen, Context, Duration, Fate, Finding, Here, Options, Phrase,
    SessionRecord, SessionSearch, ShellWord, Subject, duration, fate_of_session, hookimpl, incident_text, option,
    plainly, say,
)  # fmt: skip

GONE = (Fate.DEAD, Fate.RECYCLED)

CURES = {  # what clears a record, by who keeps it; each with a place for the session
    CLAUDE: "claude --resume {} takes the conversation up; the record goes at the client's next start in a terminal "
    "(not in a container, on WSL or with -p), or when that one file is removed",
    BACKGROUND: "claude agents starts that service again, which then calls {} failed; from there it can be resumed",
    COPILOT: "copilot --resume={} takes it up, and the record away; or that one file is removed",
}


@dataclass(frozen=True)
class DeadSessions(Options):
    """Where clients keep their records, and how long these are their own business."""

    min_age: Duration = option(Duration(24 * 3600), "a younger record may yet be cleared up by its client")
    claude: tuple[str, ...] = option(("~/.claude", "$CLAUDE_CONFIG_DIR"), "Claude Code's configuration directories")
    copilot: tuple[str, ...] = option(("~/.copilot", "$COPILOT_HOME"), "Copilot CLI's directories")


def find(context: Context[DeadSessions]) -> Iterator[Finding]:
    """One finding for each client's dead records of this project; notes about others', and about what is no record."""
    options, reserve = context.options, 0.7 * context.time_left()  # judging thousands takes longer than reading them
    search = SessionSearch(Here.current(), context.now, lambda: context.time_left() <= reserve)
    records: list[SessionRecord] = []
    for places, look in ((options.claude, search.of_claude), (options.copilot, search.of_copilot)):
        for place in filter(os.path.isabs, map(context.expand, places)):
            records += look(place)
    dead = dead_ones(context, search.here, records)
    own = {record for record in dead if is_own(context, record)}
    for keeper in CURES:
        if found := [record for record in dead if record in own and record.keeper == keeper]:
            yield finding(context, keeper, found)
    if others := sorted({record.directory for record in dead if record not in own}):
        yield Finding("others", say("dead sessions of other projects are recorded as running: {}", others), kind=NOTE)
    if search.torn:
        yield Finding("torn", say("no records of sessions, though they are called so: {}", search.torn), kind=NOTE)
    for reason in sorted(set(search.gaps.values())):
        gaps = [path for path, why in search.gaps.items() if why == reason]
        cure = say("ls -ld {} shows whose it is; gate run dead_sessions takes more than a start", ShellWord(gaps[0]))
        text = say("no records of sessions were looked for, or not to the end, in {}: {}", gaps, plainly(reason))
        yield Finding("search " + reason, text, [Subject(path) for path in gaps], remedy=cure, kind=UNKNOWN)


def dead_ones(context: Context[DeadSessions], here: Here, records: Sequence[SessionRecord]) -> list[SessionRecord]:
    """The records whose process is surely gone, and not just now; one for each session, unless it runs elsewhere."""
    old = [record for record in records if context.now - record.seen >= context.options.min_age]
    fates = {record: fate_of_session(record, context.processes, here) for record in (records if old else ())}
    taken_up = {(record.client, record.session) for record, fate in fates.items() if fate not in GONE}
    dead = {(r.client, r.session): r for r in reversed(old) if (r.client, r.session) not in taken_up}
    return sorted(dead.values(), key=lambda record: (record.seen, record.path))


def is_own(context: Context[DeadSessions], record: SessionRecord) -> bool:
    """Whether a session belongs to the project; by the nearest parent that is there where its directory is gone."""
    return os.path.isabs(record.directory) and context.git.project(record.directory).key == context.project.key


def finding(context: Context[DeadSessions], keeper: str, found: Sequence[SessionRecord]) -> Finding:
    """The finding about one client's records; its subjects are the sessions."""

    def summary(chosen: Chosen) -> Phrase:
        text = "{} has these sessions as running, and their processes are gone{}: {}"
        return say(text, say(keeper), chosen.context, [str(name)[:8] for name in chosen.names])

    subjects = []
    for record in found:
        text = "{} in {}: {}, last sign of life {} ago, process {} is gone; {}"
        age, pid = duration(context.now - record.seen), str(record.holder.pid)
        detail = say(text, record.session, record.directory, record.status or "running", age, pid, record.path)
        key, state = f"{record.client}\0{record.session}", f"{pid}:{record.seen}"
        subjects.append(Subject(key, record.session, record.seen, state, tag=record.session, detail=detail))
    oldest = found[0]
    look = say("ls -l {} and ps -p {} show it", ShellWord(oldest.path), str(oldest.holder.pid))
    return Finding(keeper, summary, subjects, remedy=say("{}; {}", look, say(CURES[keeper], ShellWord(oldest.session))))


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="dead_sessions",
        label="SESSION",
        incident=incident_text("dead_sessions"),
        summary="a client's record says that a session runs, and its process has been gone for a day",
        run=find,
        options=DeadSessions,
        ripens=True,
    )
