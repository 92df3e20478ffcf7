"""AUDIO: processes that record sound. One is expected, a person's dictation; a leak made 326."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gate.api import (
    MACHINE,
    RECORDERS,
    UNKNOWN,
    Check,
    Context,
    Finding,
    Options,
    Phrase,
    Process,
    Subject,
    UnknownError,
    duration,
    hookimpl,
    incident_text,
    option,
    recorder_of,
    say,
)


@dataclass(frozen=True)
class CaptureStreams(Options):
    """How many are too many, and which programs count beside the known ones."""

    max_streams: int = option(2, "processes that may record at once; more are debt")
    programs: tuple[str, ...] = option((), "further programs that record whenever they run, by name")


def find(context: Context[CaptureStreams]) -> Iterator[Finding]:
    """One finding about all recorders; one about processes that may not be inspected, where they could be too many."""
    limit, programs = context.options.max_streams, context.options.programs
    found, hidden = {}, []
    for process in context.processes.named({*RECORDERS, *programs}):
        try:
            words = context.processes.arguments(process.pid)
        except UnknownError:
            hidden.append(process)
            continue
        if words and (program := recorder_of(process.name, words, programs)):
            found[process.pid] = process._replace(name=program)
    for wrapper in {process.ppid for process in found.values()} & found.keys():
        del found[wrapper]  # a script of the same name that runs the recorder: one stream, not two
    streams = sorted(found.values(), key=lambda process: process.started)
    if streams:
        yield Finding(
            key="streams",
            summary=lambda chosen: say("{} capture streams (expect 1){}", chosen.count, chosen.context),
            subjects=[subject(context, process) for process in streams],
            details=[
                *(detail(context, program, streams) for program in sorted({process.name for process in streams})),
                say("more than {} at once are too many (max_streams)", limit),
            ],
            remedy=say(
                "ps -o pid,ppid,etime,comm -p {} shows the oldest; end first what starts them, then each by its id",
                str(streams[0].pid),
            ),
            tolerated=limit,
        )
    if hidden and len(streams) + len(hidden) > limit:
        yield Finding(
            key="hidden",
            summary=say("{} that may record cannot be inspected: {}", len(hidden), sorted({p.name for p in hidden})),
            subjects=[Subject(process.key, process.name, process.started, process.key) for process in hidden],
            remedy=say(
                "ps -o user,pid,etime,comm -p {} shows whose it is; it is known to that user's own gate run",
                str(hidden[0].pid),
            ),
            kind=UNKNOWN,
        )


def subject(context: Context[CaptureStreams], process: Process) -> Subject:
    """A recorder, with what tells whose it is."""
    try:
        directory = context.processes.directory(process.pid)
    except UnknownError:
        directory = None
    tag = context.processes.tag(process.pid)
    return Subject(process.key, process.name, process.started, process.key, tag=tag, directory=directory)


def detail(context: Context[CaptureStreams], program: str, streams: Sequence[Process]) -> Phrase:
    """How many run this program, how old, started by whom; never their arguments, which can hold tokens."""
    same = [process for process in streams if process.name == program]
    oldest, newest = (duration(context.now - process.started) for process in (same[0], same[-1]))
    names = {process.pid: process.name for process in context.processes}
    parents = [say("{} ({})", str(pid), names.get(pid, "gone")) for pid in sorted({process.ppid for process in same})]
    text = "{} {}, the oldest {}, the newest {} old, started by {}; process ids {}"
    return say(text, len(same), program, oldest, newest, parents, [str(process.pid) for process in same])


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="capture_streams",
        label="AUDIO",
        incident=incident_text("capture_streams"),
        summary="more than 2 processes are capturing audio",
        run=find,
        scope=MACHINE,
        options=CaptureStreams,
    )
