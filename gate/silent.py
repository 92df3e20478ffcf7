"""The silent path: what runs at every start and end of every session, and says nothing when all is well.

A client's hook runs this file as a program, `PYTHON -I -S …/gate/silent.py start --client claude`; `gate hook …` calls
it too. Until there is something to say it imports the standard library's cheapest modules only; everything else is
behind `_wake`.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # -I and -S keep the working directory and site-packages away; at the end of the path nothing of the standard
    # library is shadowed by what lies beside this package.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from gate import detach, files, payload
from gate.clients import NAMES
from gate.errors import DamagedError, GateError, StateError
from gate.ledger import ENDING, Record, safe_id
from gate.liveness import find_owner
from gate.site import Site
from gate.state import ProjectState
from gate.tags import without_tags
from gate.verdict import GREEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gate.clients import Event
    from gate.liveness import Owner
    from gate.site import Look

START_EVENTS = ("", "SessionStart", "sessionStart")
END_EVENTS = ("", "SessionEnd", "sessionEnd")
"""Other events are not a session's boundary: a Stop or SubagentStop hook fires after every turn, and a gate that takes
it for an end would answer for work that goes on (incident: a watcher was killed after the first turn)."""


def main(arguments: Sequence[str]) -> int:
    """`start|end --client NAME`, from a client's hook. Always 0: nothing in a hook is ever fatal."""
    words = [part for word in arguments for part in word.split("=", 1)]
    if words[:1] in (["finish"], ["complete"]):
        return int(_awake("detached").main(words))
    name = words.pop(words.index("--client") + 1) if "--client" in words[:-1] else ""
    boundary = " ".join(word for word in words if word != "--client")
    if boundary not in ("start", "end") or name not in NAMES:
        sys.stderr.write(f"session-gate: usage: gate hook start|end --client {'|'.join(NAMES)}\n")
        return 0
    client = _client(name)
    try:
        answer = _hook(boundary, client, os.environ)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the session must start, and be told
        answer = _failed(boundary, client, error)
    if answer:
        _write(answer)
    return 0


def _hook(boundary: str, client: Any, environ: Mapping[str, str]) -> str:
    event = client.read_event(payload.read(), environ)
    if event.subagent or event.name not in (START_EVENTS if boundary == "start" else END_EVENTS):
        return ""
    site = Site.at(_directory(event), environ)
    if boundary == "end":
        end(site, client, event)
        return ""
    return start(site, client, event)


def start(site: Site, client: Any, event: Event) -> str:
    """A session starts: write its record; what its client is to be shown, empty when all is green."""
    look = site.look()
    owner = _owner(site, client, event)
    session = _session_id(event, owner, client.NAME)
    mine = _mine(look, session, owner)
    known = mine is not None
    if event.source == "compact" and known and (look.marker is None or look.marker.state == "ok"):
        return ""
    if mine is None and session:
        mine = _new_record(site, client, event, owner, _free_id(look, session, owner))
    trouble = ""
    if mine is not None and not known:
        try:
            site.state.ensure()
            site.state.ledger.write(mine)
        except StateError as error:
            trouble = str(error)
            _distrust(site)  # silence must not be inherited from a session that left no record
    if site.environ.get("SESSION_GATE_DISABLE"):
        line = "SESSION-GATE: disabled by SESSION_GATE_DISABLE; nothing is checked in this session."
        return str(client.render_start(line, line))
    verdict = site.judge(look, mine.id if mine else None)
    if verdict.kind == GREEN and not trouble and event.source != "clear":
        if mine is not None and not known:
            follow(site, "complete", mine.id, baseline=True)
        if look.marker is not None and _was_told(look, event):
            line = "SESSION-GATE: what an earlier text in this conversation reported is gone; nothing is left behind."
            return str(client.render_start(line, line))
        return ""
    return str(_awake("boundary").start(site, client, event, look, verdict, mine, known, trouble))


def start_by_hand(environ: Mapping[str, str]) -> int:
    """`gate start` as typed: the same verdict and suite as the hook's, without a record. Raises GateError."""
    site = Site.at(os.getcwd(), environ)
    look = site.look()
    mine = look.asking(environ)
    verdict = site.judge(look, mine.id if mine is not None else None)
    if verdict.kind != GREEN:
        text = _awake("boundary").start_by_hand(site, look, verdict, mine)
        _write(text + "\n" if text else "")
    return 0


def end(site: Site, client: Any, event: Event) -> None:
    """A session ends: turn its record to `ending`, start one finisher, and be gone."""
    if site.environ.get("SESSION_GATE_DISABLE") or event.reason == "clear":
        return  # after /clear the client lives on, and its next start takes the record over
    owner = _owner(site, client, event)
    session = _session_id(event, owner, client.NAME)
    if not session:
        return
    site, record = _find_record(site, session, owner)
    if record is None:
        if _ended_already(site, session):
            return
        record = _new_record(site, client, event, owner, session)
    try:
        site.state.ensure()
        lock = files.Lock(site.state.ledger.lock_path(record.id))
        if not lock.acquire(timeout=0.2):  # a mere look whether it is held takes it for a moment
            return  # a finisher of this session is at work: some clients fire their end three times
        record.state = ENDING
        record.ended = site.clock.now()
        site.state.ledger.write(record)
    except StateError:
        _distrust(site)
        raise
    follow(site, "finish", record.id, keep=lock.fd)


def _distrust(site: Site) -> None:
    try:
        site.state.marker_file.retire()
    except StateError:
        pass  # where nothing at all can be written, the next start cannot write its record either, and says so


def follow(site: Site, task: str, session: str, keep: int = -1, baseline: bool = False) -> bool:
    """Start the detached process that completes an end (`finish`) or a start (`complete`). `keep` is a lock that it
    holds as long as it lives.
    """
    held = files.Lock(site.state.ledger.baseline_path(session) + ".lock")
    if baseline and held.acquire():
        keep = held.fd
    command = detach.own_command(os.path.abspath(__file__), task, site.project.root, session, str(keep))
    return detach.detach(command, without_tags(site.environ), keep=[keep] if keep >= 0 else [])


def _client(name: str) -> Any:
    return getattr(__import__("gate.clients." + name).clients, name)


def _directory(event: Event) -> str:
    for directory in event.directories:
        if os.path.isabs(directory) and _is_path(directory):
            return directory
    try:
        return os.getcwd()
    except OSError:  # the working directory was deleted
        return os.environ.get("PWD") or os.path.sep


def _owner(site: Site, client: Any, event: Event) -> Owner | None:
    owner = find_owner(os.getpid(), client.is_client, client.named_owner(site.environ), site.stat)
    if owner is None and event.session:
        owner = find_owner(0, client.is_client, client.recorded_owner(site.environ, event.session), site.stat)
    return owner


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _session_id(event: Event, owner: Owner | None, client: str) -> str:
    if event.session:
        return safe_id(event.session)
    return f"{client}-{owner.pid}-{owner.started}" if owner is not None else ""


def _mine(look: Look, session: str, owner: Owner | None) -> Record | None:
    """The record that this very session, in this very process, opened before (a compaction, a resume within it)."""
    for record in look.of_session(session) if session else ():
        if record.state != ENDING and record.alive is not False and _same(record.owner, owner):
            return record
    return None


def _same(one: Owner | None, other: Owner | None) -> bool:
    return (one is None and other is None) or (
        one is not None and other is not None and (one.pid, one.started) == (other.pid, other.started)
    )


def _free_id(look: Look, session: str, owner: Owner | None) -> str:
    """A record id for a session whose own is taken: by a dead process, a second terminal, or an end in the making."""
    taken = {record.id for record in look.records}
    if session not in taken:
        return session
    number = owner.pid if owner is not None else 2
    while f"{session}--{number}" in taken:
        number += 1
    return f"{session}--{number}"


def _new_record(site: Site, client: Any, event: Event, owner: Owner | None, session: str) -> Record:
    import time

    return Record(
        id=session,
        client=client.NAME,
        owner=owner,
        place=site.place,
        since=site.clock.now(),
        written=time.time(),
        worktree=site.project.here,
        cwd=_directory(event),
        source=event.source,
        transcript=event.transcript,
        root=site.project.root,
    )


def _find_record(site: Site, session: str, owner: Owner | None) -> tuple[Site, Record | None]:
    """The open record of a session that ends, in whichever project it began: people change directories."""
    found = _pick(site.look(), session, owner)
    if found is not None:
        return site, found
    try:
        keys = os.listdir(site.state.root)
    except OSError:
        return site, None
    for key in keys:
        try:
            found = ProjectState(site.state.root, key).ledger.read(session)
        except DamagedError:
            continue
        if found is not None and found.root:
            return Site.at(found.root, site.environ), found
    return site, None


def _pick(look: Look, session: str, owner: Owner | None) -> Record | None:
    records = look.of_session(session)
    same = [record for record in records if _same(record.owner, owner)]
    found = same or records
    return found[-1] if found else None


def _was_told(look: Look, event: Event) -> bool:
    told = look.marker.data.get("told") if look.marker is not None else None
    if event.source not in ("resume", "fork") or not isinstance(told, dict):
        return False
    return bool(told) if event.source == "fork" else safe_id(event.session) in told


def _ended_already(site: Site, session: str) -> bool:
    marker = site.look().marker
    last = marker.data.get("session") if marker is not None else None
    return isinstance(last, dict) and last.get("id") == session


def _awake(name: str) -> Any:
    """A module of the full path. From here on site-packages are needed."""
    if sys.flags.no_site and "site" not in sys.modules:
        import site

        site.main()
    _keep_stdout_aside()
    return getattr(__import__("gate." + name), name)


_out = 1


def _keep_stdout_aside() -> None:
    """A check that prints must not reach what the client reads, not even from a thread that was given up."""
    global _out
    if _out == 1:
        _out = os.dup(1)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)


def _failed(boundary: str, client: Any, error: BaseException) -> str:
    reason = str(error) if isinstance(error, GateError) else f"{type(error).__name__} in session-gate"
    if boundary == "end":
        sys.stderr.write(f"session-gate: {reason}\n")
        return ""
    line = f"SESSION-GATE: could not check what the previous session left: {_awake('quote').line(reason)}"
    return str(client.render_start(line, line))


def _write(text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(_out, data) :]
    except OSError:
        pass  # the client no longer listens


if __name__ == "__main__":
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)  # an interpreter's orderly shutdown costs a sixth of the whole start
