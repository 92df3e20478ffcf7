"""PROCESS: what sessions started and left running. It costs agents' users more than anything else they leave."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from gate.api import (  # isort: skip
    DEBT, DEFERRED, KEPT, MACHINE, NOTE, UNKNOWN, Check, Chosen, Context, Finding, Options, Orphan, Phrase, Subject,
    Weight, duration, find_orphans, hookimpl, incident_text, local_second, option, say, weigh_processes,
)  # fmt: skip

Group = tuple[str, tuple[str, ...], str, str]
"""What is told together: kind, program, what ties it, session."""


@dataclass(frozen=True)
class LeftProcesses(Options):
    """Which programs are left running on purpose."""

    kept: tuple[str, ...] = option(KEPT, "programs that stay by design, by name: notes")


def find(context: Context[LeftProcesses]) -> Iterator[Finding]:
    """One finding for each program that a session left, and one about what may not be inspected."""
    roots = [context.project.root, *(tree.path for tree in context.worktrees)]
    orphans, hidden = find_orphans(context.processes, roots, context.time_left())
    groups: dict[Group, list[Orphan]] = {}
    for orphan in orphans:
        kind = NOTE if orphan.stays(context.options.kept) else DEFERRED if orphan.tie.lingers else DEBT
        session = orphan.tie.tag or orphan.tie.client
        groups.setdefault((kind, orphan.name, orphan.tie.how, session), []).append(orphan)
    until = time.monotonic() + context.time_left() / 2
    for group, same in groups.items():
        weights = {each.root.key: weigh_processes(each.tree, context.processes, context.now, until) for each in same}
        yield _finding(context, group, same, weights)
    if hidden:
        names = sorted({process.name for process in hidden})
        yield Finding(
            key="hidden",
            summary=say("{} of what a session left cannot be inspected: {}", len(hidden), names),
            subjects=[Subject(process.key, process.name, process.started, process.key) for process in hidden],
            remedy=say("ps -o user,pid,etime,comm -p {} shows whose it is", str(hidden[0].pid)),
            kind=UNKNOWN,
        )


def _finding(
    context: Context[LeftProcesses], group: Group, same: Sequence[Orphan], weights: dict[str, Weight]
) -> Finding:
    kind, name, how, session = group
    shown = say(" ".join(["{}"] * len(name)), *name)
    starts = {orphan.root.key: orphan.root.started for orphan in same}

    def summary(chosen: Chosen) -> Phrase:
        weight = reduce(Weight.plus, (weights[subject.key] for subject in chosen.subjects), Weight())
        first, last = (pick(starts[subject.key] for subject in chosen.subjects) for pick in (min, max))
        several, inside = chosen.count > 1, weight.processes > chosen.count
        count = say("{} × ", chosen.count) if several else say("")
        trees = say(" ({} processes)", weight.processes) if inside else say("")
        begun = say("started {}" if last - first < 1 else "since {}", local_second(first, context.now))
        stays = say("; it stays by design") if kind == NOTE else say("")
        happened, age = same[0].tie.said(several), duration(context.now - first)
        text = "{}{}{} {}: {}, {} old, {}{}{}"
        return say(text, count, shown, trees, happened, begun, age, weight.said, stays, chosen.context)

    pids = say(",".join(str(orphan.root.pid) for orphan in same[:20]))
    look = (
        "ps -o pid,ppid,lstart,time,rss,comm -p {} shows {}; what nobody needs any more goes when it is ended by its id"
    )
    return Finding(
        key=f"{how}:{session}:{' '.join(name)}",
        summary=summary,
        subjects=[_subject(context, " ".join(name), orphan, weights[orphan.root.key]) for orphan in same],
        remedy=say(look, pids, say("them" if len(same) > 1 else "it")),
        kind=kind,
    )


def _subject(context: Context[LeftProcesses], name: str, orphan: Orphan, weight: Weight) -> Subject:
    root, tie = orphan.root, orphan.tie
    where = say(" in {}", orphan.directory) if orphan.directory else say("")
    trees = [tree.path for tree in context.worktrees if f"{orphan.directory}/".startswith(f"{tree.path}/")]
    worktree = max(trees, key=len) if trees and tie.tag is None else None
    detail = say("pid {}, {}{}: {}", str(root.pid), local_second(root.started, context.now), where, weight.said)
    return Subject(
        root.key, name, root.started, root.key, worktree, tie.tag, orphan.directory, at_work=tie.at_work, detail=detail
    )


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="left_processes",
        label="PROCESS",
        incident=incident_text("left_processes"),
        summary="a process that a session started has outlived it",
        run=find,
        scope=MACHINE,
        options=LeftProcesses,
    )
