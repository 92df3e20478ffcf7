"""TMP: a watched temp directory that holds too much. A leak wrote 37 GB into one, and nobody was looking."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass

from gate.api import (
    MACHINE,
    NOTE,
    UNKNOWN,
    Check,
    Context,
    Finding,
    Held,
    Options,
    Phrase,
    ShellWord,
    Size,
    Subject,
    duration,
    find_roots,
    hookimpl,
    incident_text,
    measure,
    memory_file_system,
    option,
    say,
    size,
)

READ = say("it is known once this user can read all directories there")
EXTRA = 0.3
"""Seconds that counting goes on once a limit is passed: the rest of a million files tells nothing new."""


@dataclass(frozen=True)
class TempSize(Options):
    """Where to look, and how much is too much."""

    paths: tuple[str, ...] = option(("$TMPDIR/capture-live",), "directories to watch; glob patterns are allowed")
    max_bytes: Size = option(Size(512 << 20), "bytes that one of them may hold, as allocated; more is debt")
    max_files: int = option(20, "files that one of them may hold; more are debt")


def find(context: Context[TempSize]) -> Iterator[Finding]:
    """For each watched directory: what it holds, if that is too much, and what could not be established."""
    options = context.options
    roots = find_roots(options.paths, context.project.root, context.expand)
    for pattern, reason in roots.failed:
        text = say("{} cannot be looked for: {}", pattern, reason)
        yield Finding(
            pattern, text, [Subject(pattern)], remedy=say("gate config shows it as `paths`; {}", READ), kind=UNKNOWN
        )
    temp = os.path.realpath(context.expand("$TMPDIR")) + "/"
    for number, (path, status) in enumerate(roots.found.items()):
        name = path.removeprefix(temp)
        if stat.S_ISLNK(status.st_mode):
            text = say("{} is a symbolic link to {}, and is not followed", name, os.readlink(path))
            yield Finding(path, text, [Subject(path, name, status.st_mtime)], kind=NOTE)
        else:
            spare, others = 0.9 * context.time_left(), len(roots.found) - number
            until, extra = time.monotonic() + spare / min(2, others), min(EXTRA, spare / others)
            held = measure(path, options.max_bytes, options.max_files, until, extra, options.ignore)
            yield from judge(options, Subject(path, name, held.newest), held, context.now)


def judge(options: TempSize, subject: Subject, held: Held, now: float) -> Iterator[Finding]:
    """What to say of a directory that was measured."""
    path, name = subject.key, subject.name
    least, plural = "" if held.complete else "at least ", "" if held.files == 1 else "s"
    amount = say(least + "{} in {} file" + plural, size(held.bytes), held.files)
    if held.bytes > options.max_bytes or held.files > options.max_files:
        yield Finding(
            key=path,
            summary=say("{} holds {} (limit {} or {} files)", name, amount, size(options.max_bytes), options.max_files),
            subjects=[subject],
            details=list(details(path, held, now)),
            remedy=say(
                "du -sh {} shows it; end what writes there first, then remove what nobody needs", ShellWord(path)
            ),
        )
    elif not held.complete:
        text = say("{} could not be counted to the end in the time there was: {} so far", name, amount)
        remedy = say("du -sh {} counts it; gate run temp_size takes more time than a session's start", ShellWord(path))
        yield Finding(path, text, [subject], remedy=remedy, kind=UNKNOWN)
    if held.unread_count:
        places = [say("{} ({})", place, reason) for place, reason in held.unread]
        text = say("{} in {} cannot be read: {}", held.unread_count, name, places)
        remedy = say("ls -ld {} shows whose it is; {}, or `ignore` names them", ShellWord(held.unread[0][0]), READ)
        yield Finding("unread " + path, text, [subject], remedy=remedy, kind=UNKNOWN)


def details(path: str, held: Held, now: float) -> Iterator[Phrase]:
    """Where it is, how fresh, and what is big in it."""
    yield say("{}: the newest change was {} ago", path, duration(now - held.newest))
    if held.biggest:
        yield say("the biggest: {}", [say("{} ({})", name, size(count)) for count, name in held.biggest])
    if memory := memory_file_system(path):
        yield say("it lies on {}: that is memory, not disk", memory)
    if held.mounts:
        yield say("file systems mounted in it, not counted: {}", held.mounts)
    yield say("bytes are those allocated; what copies share (clones) is counted for each")


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="temp_size",
        label="TMP",
        incident=incident_text("temp_size"),
        summary="a watched directory ($TMPDIR/capture-live) holds over 512 MiB or more than 20 files",
        run=find,
        scope=MACHINE,
        options=TempSize,
    )
