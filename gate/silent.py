"""The silent path: what runs at every start and end of every session, and says nothing when all is well.

A client's hook comes here by `gate/hook.py`, and `gate hook …` does too. Until there is something to say it imports the
standard library's cheapest modules only; everything else is behind `_awake`.
"""

from __future__ import annotations

import gc
import os
import sys

from gate import detach, files, fired, payload
from gate.clients import NAMES, calling
from gate.errors import GateError, StateError
from gate.ledger import END_ALONE, LEAVING, OPEN, PROMPT, UNTOLD, safe_id
from gate.marker import UNWRITTEN
from gate.project import working_directory
from gate.sessions import (
    await_turn,
    ended_already,
    event_directory,
    find_session_owner,
    handed_over,
    is_answered,
    mark_ended,
    move_record,
    new_record,
    own_record,
    record_to_end,
    session_id,
    speaks_of_us,
)
from gate.site import Site
from gate.tags import without_tags
from gate.verdict import GREEN
from gate.watchdog import LIMIT, RESERVE, Watchdog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gate.clients import Event
    from gate.ledger import Record
    from gate.site import Look

START_EVENTS = ("", "SessionStart", "sessionStart")
END_EVENTS = ("", "SessionEnd", "sessionEnd")
"""Other events are not a session's boundary: a Stop or SubagentStop hook fires after every turn, and a gate that takes
it for an end would answer for work that goes on (incident: a watcher was killed after the first turn)."""

COULD_NOT = "SESSION-GATE: could not check what the previous session left: "


def main(arguments: Sequence[str]) -> int:
    """`start|end --client NAME`, from a client's hook. Always 0: nothing in a hook is ever fatal."""
    words = [part for word in arguments for part in word.split("=", 1)]
    if words[:1] in (["finish"], ["complete"]):
        return int(_awake("detached").main(words))
    name = words.pop(words.index("--client") + 1) if "--client" in words[:-1] else ""
    boundary = " ".join(word for word in words if word != "--client")
    if boundary not in ("start", "end") or name not in NAMES:
        _complain(f"usage: gate hook start|end --client {'|'.join(NAMES)}")
        return 0
    client = _client(name)
    limit = _limit(client, boundary)
    watchdog = _watch(lambda reason: _say(*_could_not(boundary, client, reason)), limit)
    try:
        told = payload.read()
        client = _client(calling(name, told, os.environ))
        event = client.read_event(told, os.environ)
        answer, complaint = _hook(boundary, client, event, lent=name != client.NAME), ""
    except BaseException as error:  # noqa: BLE001 - whatever it is, the session must start, and be told
        answer, complaint = _failed(boundary, client, error)
    watchdog.take_word()
    _say(answer, complaint)
    watchdog.call_off()
    return 0


def _hook(boundary: str, client: Any, event: Event, lent: bool) -> str:
    """`lent` says that the hook is one that was installed for another client."""
    is_start = event.name in START_EVENTS or event.prompt
    if event.subagent or not (is_start if boundary == "start" else event.name in END_EVENTS):
        _watchdog.noted = True  # whatever this is, it is no session
        return ""
    _watchdog.directory = event_directory(event)
    site = _watchdog.site = Site.at(_watchdog.directory, os.environ)
    if boundary == "end":
        end(site, client, event)
        return ""
    return start(site, client, event, lent)


def start(site: Site, client: Any, event: Event, lent: bool = False) -> str:
    """A session starts: write its record; what its client is to be shown, empty when all is green."""
    owner = find_session_owner(site, client, event)
    session = session_id(event, owner, client.NAME)
    turn = await_turn(site, session) if session and getattr(client, "SEVERAL", False) else None
    try:
        look = site.look()
        mine = own_record(look, session, owner)
        if mine is not None and is_answered(mine, event, lent):
            return ""
        if event.prompt:
            event.source = mine.source if mine is not None else "resume"
        known = mine is not None and mine.state != UNTOLD
        _watchdog.noted = mine is not None
        if event.source == "compact" and known and (look.marker is None or look.marker.state == "ok"):
            return ""
        if mine is None and session:
            mine = new_record(site, client, event, owner, session, PROMPT if event.prompt else event.source)
        trouble = _take_up(site, client, event, mine, known) if mine is not None else ""
    finally:
        if turn is not None:
            turn.release(unlink=True)
    return "" if event.unheard else _answer(site, client, event, look, mine, known, trouble)


def _answer(site: Site, client: Any, event: Event, look: Look, mine: Record | None, known: bool, trouble: str) -> str:
    if site.environ.get("SESSION_GATE_DISABLE"):
        line = "SESSION-GATE: disabled by SESSION_GATE_DISABLE; nothing is checked in this session."
        return str(client.render_start(line, line))
    verdict = site.judge(look, mine.id if mine else None)
    cleared = handed_over(look, mine, event.source)
    if verdict.kind == GREEN and not trouble and not cleared and event.source != "clear":
        if mine is not None and not known:
            follow(site, "complete", mine.id, baseline=True)
        if look.marker is not None and was_told(look, event):
            return str(_awake("boundary").say_gone(site, client, event))
        return ""
    return str(_awake("boundary").start(site, client, event, look, verdict, mine, known, trouble, cleared))


def _take_up(site: Site, client: Any, event: Event, mine: Record, known: bool) -> str:
    """Write down that a session is open; why not, where that fails."""
    if known:
        if mine.state == LEAVING:
            mine.state = OPEN  # it left for another conversation, and is back
            site.state.ledger.write(mine)
        return ""
    mine.state = UNTOLD if event.unheard else OPEN
    try:
        site.state.ensure()
        site.state.ledger.write(mine)
        _watchdog.noted = True
        fired.note(site.state.directory, client.NAME, fired.START, site.clock.now())
        client.export_tag(site.environ, mine.session)
    except StateError as error:
        _distrust(site)  # silence must not be inherited from a session that left no record
        return str(error)
    return ""


def start_by_hand(environ: Mapping[str, str]) -> int:
    """`gate start` as typed: the same verdict and suite as the hook's, without a record. Raises GateError."""
    watchdog = _watch(lambda reason: _say(f"{COULD_NOT}{reason}\n", ""), LIMIT)
    watchdog.noted = True  # nothing begins here
    text = ""
    try:
        site = Site.at(working_directory(environ), environ)
        look = site.look()
        mine = look.asking(environ)
        verdict = site.judge(look, mine.id if mine is not None else None)
        if verdict.kind != GREEN:
            text = _awake("boundary").start_by_hand(site, look, verdict, mine)
    finally:
        watchdog.take_word()
        _say(text + "\n" if text else "", "")
        watchdog.call_off()
    return 0


def end(site: Site, client: Any, event: Event) -> None:
    """A session ends: turn its record to `ending`, start one finisher, and be gone."""
    if site.environ.get("SESSION_GATE_DISABLE") or event.reason == "clear":
        return  # after /clear the client lives on, and its next start takes the record over
    owner = find_session_owner(site, client, event)
    session = session_id(event, owner, client.NAME)
    if not session:
        return
    site, record = record_to_end(site, session, owner)
    _watchdog.site, _watchdog.noted = site, record is not None
    if record is not None and site.project.key != site.state.key and os.path.isdir(record.root):
        site = move_record(site, record)  # its directory has become a repository, or part of another project
    if record is None:
        if ended_already(site, session, owner) or getattr(client, "LAZY", False):
            _watchdog.noted = True
            return
        record = new_record(site, client, event, owner, session, END_ALONE)
    if event.reason == "resume" and record.source != END_ALONE and record.owner is not None:
        record.state = LEAVING  # the client lives on, in another conversation
        site.state.ledger.write(record)
        return
    try:
        site.state.ensure()
        lock = files.Lock(site.state.ledger.lock_path(record.id))
        if not lock.acquire(timeout=0.2):  # a mere look whether it is held takes it for a moment
            return  # a finisher of this session is at work: some clients fire their end three times
        ended = mark_ended(record, owner, site.clock.now())
        site.state.ledger.write(record)
        _watchdog.noted = True
    except StateError:
        _distrust(site)
        raise
    fired.note(site.state.directory, record.client, fired.END, ended)
    if site.project.key == site.state.key:  # else the project is gone, and with it whatever could be looked at
        follow(site, "finish", record.id, keep=lock.fd)


def _distrust(site: Site) -> None:
    try:
        site.state.marker_file.retire(UNWRITTEN)
    except StateError:
        pass  # where nothing at all can be written, the next start cannot write its record either, and says so


def follow(site: Site, task: str, session: str, keep: int = -1, baseline: bool = False) -> bool:
    """Start the detached process that completes an end (`finish`) or a start (`complete`). `keep` is a lock that it
    holds as long as it lives.
    """
    held = files.Lock(site.state.ledger.baseline_lock_path(session))
    if baseline and held.acquire():
        keep = held.fd
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")
    command = detach.own_command(program, task, site.project.root, session, str(keep))
    return detach.detach(command, without_tags(site.environ), keep=[keep] if keep >= 0 else [])


def _client(name: str) -> Any:
    return getattr(__import__("gate.clients." + name).clients, name)


def was_told(look: Look, event: Event) -> bool:
    """Whether the conversation that goes on here holds a text of ours on something that stood then."""
    told = look.marker.data.get("told") if look.marker is not None else None
    if event.source not in ("resume", "fork") or not isinstance(told, dict):
        return False
    return safe_id(event.session) in told or (event.source == "fork" and bool(told) and speaks_of_us(event.transcript))


def _awake(name: str) -> Any:
    """A module of the full path. From here on site-packages are needed, and what is no longer needed is let go."""
    gc.enable()
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
        _watchdog.take_word()  # it must not write to what changes its place
        try:
            _out = os.dup(1)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.close(null)
        except OSError:  # closed by the caller: nobody reads
            return
        finally:
            _watchdog.give_word()


_watchdog = Watchdog()
"""Of the hook that runs; one that waits for nothing as long as none does."""


def _watch(answer: Callable[[str], None], limit: float) -> Watchdog:
    """A watchdog for what is done now, that gives a reason for an answer where this takes longer than `limit`."""
    global _watchdog
    _watchdog = watchdog = Watchdog()
    watchdog.watch(limit, lambda: answer(watchdog.why(os.environ)))
    return watchdog


def _limit(client: Any, boundary: str) -> float:
    """Seconds that a hook may take: so few that the watchdog's answer comes before the client's own limit."""
    given = [seconds for _, each, seconds in getattr(client, "HOOKS", ()) if each == boundary]
    return float(min([LIMIT, *[seconds - RESERVE for seconds in given]]))


def _could_not(boundary: str, client: Any, reason: str) -> tuple[str, str]:
    """The answer that something could not be done, in the client's form; and a complaint to standard error."""
    if boundary == "end":
        return "", reason
    return str(client.render_start(COULD_NOT + reason, COULD_NOT + reason)), ""


def _failed(boundary: str, client: Any, error: BaseException) -> tuple[str, str]:
    reason = str(error) if isinstance(error, GateError) else f"{type(error).__name__} in session-gate"
    if isinstance(error, ImportError) and error.name:
        reason = f"a part of session-gate is missing ({error.name}); install it anew"
    return _could_not(boundary, client, reason if boundary == "end" else _awake("quote").line(reason))


def _say(answer: str, complaint: str) -> None:
    if complaint:
        _complain(complaint)
    if answer:
        _write(answer)


def _complain(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"session-gate: {text}\n")
        sys.stderr.flush()


def _write(text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    try:
        while data:
            data = data[os.write(_out, data) :]
    except OSError:
        pass  # the client no longer listens
