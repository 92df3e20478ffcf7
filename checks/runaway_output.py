"""OUTPUT: logs, task output and scratch that clients write without a bound. One task's output was 1.4 TB."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from gate.api import (  # isort: skip
    MACHINE, NOTE, OUTLETS, UNKNOWN, Check, Context, Excess, File, Finding, Found, Limits, Options, Outlet, Phrase,
    ShellWord, Size, Subject, find_outputs, half_made_packs, hookimpl, incident_text, option, place_pattern,
    removed_files, say, size, sort_out, unfinished, weigh_all,
)  # fmt: skip


@dataclass(frozen=True)
class RunawayOutput(Options):
    """How much output is too much: above the heaviest use reported as a month's, below the incidents."""

    max_file: Size = option(Size(2 << 30), "bytes of one file of output, as allocated; more are debt")
    max_tree: Size = option(Size(16 << 30), "bytes of a client's logs, task output or snapshots in all")
    max_small: Size = option(Size(4 << 30), "the same where little is normal: log databases, scratch of single runs")
    max_memory: Size = option(Size(1 << 30), "each of these where the file system lies in memory")
    max_unheld: Size = option(Size(512 << 20), "bytes of half-made packs, or of a journal, that nobody has open")
    paths: tuple[str, ...] = option((), "further output to watch; what matches a pattern at the end is one pile")


def find(context: Context[RunawayOutput]) -> Iterator[Finding]:
    """One finding for each pile that is too much, for what is abandoned, removed but open, or unknown."""
    options, project = context.options, context.project
    outlets = [*OUTLETS, *(Outlet("", (path,), "the option `paths`") for path in options.paths)]
    where = (outlets, context.environ, context.expand, project.root)
    there, failed = find_outputs(*where)
    for place, reason in failed:
        cure = say("ls -ld {} shows whose it is; it is known once this user can look into it", ShellWord(place))
        yield Finding("look " + place, say("{} cannot be looked for: {}", place, reason), remedy=cure, kind=UNKNOWN)
    for found in there:
        if found.link:
            text = say("{} ({}) is a symbolic link to {}, and is not followed", found.name, found.place, found.link)
            yield Finding(found.place, text, [Subject(found.place, found.place)], kind=NOTE)
    for excess in weigh_all(there, partial(limits_of, options), context.now, context.time_left, options.ignore):
        yield from judge(context, excess)
        found = excess.pile.found
        yield from left(context, found.name, found.place, unfinished(excess.pile))
    if project.common_dir is not None:
        packs = half_made_packs(project.common_dir)
        yield from left(context, say("{}", project.root), project.common_dir, packs, project.root)
    yield from removed(context, place_pattern(*where).fullmatch)


def limits_of(options: RunawayOutput, found: Found) -> Limits:
    """What is too much of such output, where it lies."""
    most = options.max_small if found.outlet.small else options.max_tree
    return Limits.of(found, options.max_file, most, options.max_memory)


def judge(context: Context[RunawayOutput], excess: Excess) -> Iterator[Finding]:
    """What is to be said of one pile."""
    place, now = excess.pile.found.place, context.now
    if excess.parts:
        subjects, details = excess.subjects(now, context.processes), excess.details(now)
        yield Finding(place, excess.summary, subjects, details, excess.remedy)
    for key, text, remedy in excess.gaps:
        yield Finding(key, text, [Subject(key, place)], remedy=remedy, kind=UNKNOWN)


def left(
    context: Context[RunawayOutput], what: Phrase, place: str, files: Sequence[File], directory: str | None = None
) -> Iterator[Finding]:
    """Half-made packs and journals: debt where nobody has them open any more, a note where somebody may."""
    limit = context.options.max_unheld
    for bunch in sort_out(files, limit, context.now, context.processes):
        text = say("{}: {} {} (limit {} in all)", what, bunch.named, bunch.words, size(limit))
        yield Finding(f"{bunch.kind} {place}", text, bunch.subjects(directory), (), bunch.cure, bunch.kind)


def removed(context: Context[RunawayOutput], is_output: Callable[[str], object]) -> Iterator[Finding]:
    """One finding for all output that is in no directory any more, and takes space while a process has it open."""
    options, until = context.options, time.monotonic() + 0.5 * context.time_left()
    found = removed_files(context.processes, is_output, options.max_file, options.max_memory, until)
    if found:
        cure = say("ps -o pid,ppid,etime,comm -p {} shows who has it; ", str(found[0].process.pid))
        yield Finding(
            key="removed",
            summary=lambda chosen: say("removed, but still open{}: {}", chosen.context, chosen.names),
            subjects=[each.subject(context.processes) for each in found],
            remedy=say("{}its space is free when that process ends", cure),
        )


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="runaway_output",
        label="OUTPUT",
        incident=incident_text("runaway_output"),
        summary="a client's log, task output or other temporary file is over 2 GiB, or a tree of them over 16 GiB",
        run=find,
        scope=MACHINE,
        options=RunawayOutput,
    )
