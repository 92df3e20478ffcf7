"""GITCFG: a repository in which git does not work, or leaves out hooks and worktrees without a word."""

from __future__ import annotations

import time
from collections.abc import Iterator

from gate.api import (
    SKIPPED,
    Check,
    Context,
    Finding,
    Inspection,
    Options,
    ShellWord,
    SkipCheck,
    Subject,
    hookimpl,
    incident_text,
    plainly,
    say,
)


def find(context: Context[Options]) -> Iterator[Finding]:
    """One finding for each thing that is broken, or of which that could not be established."""
    project = context.project
    if project.common_dir is None and not project.broken:
        if context.last_outcome in ("", SKIPPED):
            raise SkipCheck("not a git repository")
        text = "there was a git repository here at the last look, and now there is none"
        cure = "ls -la {} shows what is left; a clone or a backup has it; where that is meant, a waiver accepts it"
        remedy = say(cure, ShellWord(project.root))
        yield Finding("gone", say(text), [Subject("gone", project.root)], remedy=remedy)
        return
    deadline = time.monotonic() + 0.8 * context.time_left()
    inspection = Inspection(context.git, project, context.worktrees, context.environ, deadline)
    for fault in inspection.faults():
        yield Finding(
            key=fault.key,
            summary=fault.text,
            subjects=[Subject(fault.key, fault.name, fault.changed, fault.state, fault.worktree)],
            details=fault.details,
            remedy=say("{}; {}", fault.look, plainly(fault.cure)),
            kind=fault.kind,
        )


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="broken_repository",
        label="GITCFG",
        incident=incident_text("broken_repository"),
        summary="git does not work in the repository or one of its worktrees, or does not find its hooks",
        run=find,
    )
