"""The boundary: what happens when a session starts, beyond the silent path; and the same suite by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gate import fired
from gate.baseline import write_baseline
from gate.clients import Event
from gate.clock import rfc3339
from gate.errors import StateError
from gate.examination import Examination, judge
from gate.finding import DEBT, UNKNOWN
from gate.ledger import Record, safe_id
from gate.marker import Marker
from gate.output import context
from gate.settlement import forget_told, settle
from gate.silent import follow, was_told
from gate.site import Look, Site
from gate.suite import BY_HAND, START
from gate.survey import survey
from gate.verdict import ABANDONED, FIRST, GREEN, PENDING, Verdict

CONTINUED = ("resume", "fork")
"""Why a session starts whose conversation holds earlier texts. Claude Code sends no text that stands there already: the
same debt, come back after it was gone, would not be said. So such a text ends with the time of the look."""

_COMMANDS = {"clear": "/clear", "resume": "/resume", "fork": "/branch"}
"""What a person typed in a client that goes on to another session."""

MOST = 10_000
"""Characters of a text that a client takes whole unless its module says less; no `inject_limit` is larger."""

FINISHER_PATIENCE = 1.0
"""Seconds that a start waits for the finisher of the previous session before it runs the suite itself."""


def start(
    site: Site,
    client: Any,
    event: Event,
    look: Look,
    verdict: Verdict,
    mine: Record | None,
    known: bool,
    trouble: str,
    cleared: Sequence[Record],
) -> str:
    """A session starts and it is not green: run the suite, write the marker; what the client is to be shown."""
    if verdict.kind == PENDING:
        look, verdict = await_finisher(site, look, verdict, mine)
        if verdict.kind == GREEN and not trouble and not cleared and event.source != "clear":
            if mine is not None and not known:
                follow(site, "complete", mine.id, baseline=True)
            return ""
    told = was_told(look, event)
    cut = len(_checked(site)) if event.source in CONTINUED else 0
    before = _COMMANDS.get(event.source, "") if cleared else ""
    most = int(getattr(client, "MOST", MOST))
    again = known and not cleared
    text, headline, examined = greet(site, look, verdict, mine, cleared, before, trouble, again, cut, most)
    if mine is not None and not known and not trouble:
        write_baseline(site, mine, examined.report.baseline(mine.written))
        if examined.report.of_kind(UNKNOWN):
            follow(site, "complete", mine.id, baseline=True)
    if not text and told:
        return say_gone(site, client, event)
    return str(client.render_start(text + _checked(site) if text and cut else text, headline))


def say_gone(site: Site, client: Any, event: Event) -> str:
    """In a conversation that goes on: what an earlier text of ours reported stands no more. That is said once."""
    forget_told(site, safe_id(event.session))
    line = "SESSION-GATE: what an earlier text in this conversation reported is gone; nothing is left behind."
    return str(client.render_start(line + _checked(site), line))


def _checked(site: Site) -> str:
    return f"\nChecked at {rfc3339(site.clock.now())}."


def greet(
    site: Site,
    look: Look,
    verdict: Verdict,
    mine: Record | None = None,
    cleared: Sequence[Record] = (),
    before: str = "",
    trouble: str = "",
    again: bool = False,
    cut: int = 0,
    most: int = MOST,
) -> tuple[str, str, Examination]:
    """Run the suite within the start budget, write the marker, and compose the text and the user's line."""
    surveyed = survey(site, look, mine, START, first=_is_first_look(look, verdict), cleared=cleared, again=again)
    said: list[str] = ["", ""]

    def decorate(now: Look, examined: Examination, data: Mapping[str, Any]) -> dict[str, Any]:
        when = rfc3339(surveyed.when)
        shown = context.shown_before(now.marker, examined.report, when)
        limit = min(surveyed.configuration.inject_limit, most) - cut
        said[:] = context.compose(
            examined.report,
            verdict,
            shown,
            data["loosened"],
            before,
            site.project.here,
            limit,
            surveyed.configuration.stale_after,
        )
        red = bool(examined.report.of_kind(DEBT, UNKNOWN))
        told = {"told": _told(now.marker, mine.session, when)} if red and mine is not None else {}
        return {"shown": shown, "loosened": [], **told}

    moment = {ABANDONED: fired.UNENDED, PENDING: fired.CUT_OFF}.get(verdict.kind)
    if moment is not None:
        for client in {record.client for record in verdict.records if not record.finishing}:
            fired.note(site.state.directory, client, moment, site.clock.now())
    try:
        examined = settle(site, surveyed, decorate)
    except StateError as error:
        trouble = trouble or str(error)
        now = site.look()
        examined = judge(site, now, surveyed)
        decorate(now, examined, {"loosened": []})
    if trouble:
        said[:] = context.with_trouble(said[0], said[1], trouble)
    return said[0], said[1], examined


def _is_first_look(look: Look, verdict: Verdict) -> bool:
    """Whether a check that was never known takes a first look: nobody was here before, or they all are still."""
    if look.marker is not None or verdict.kind == FIRST:
        return True
    return verdict.reason == "missing" and all(record.alive for record in verdict.records)


def await_finisher(site: Site, look: Look, verdict: Verdict, mine: Record | None) -> tuple[Look, Verdict]:
    """Wait briefly while every pending end has a living finisher; then look again."""
    deadline = time.monotonic() + FINISHER_PATIENCE
    me = mine.id if mine is not None else None
    while verdict.kind == PENDING and all(r.finishing for r in verdict.records) and time.monotonic() < deadline:
        time.sleep(0.02)
        look = site.look()
        verdict = site.judge(look, me)
    return look, verdict


def start_by_hand(site: Site, look: Look, verdict: Verdict, mine: Record | None) -> str:
    """What a new session should know, for somebody who typed `gate start`; opens no record."""
    look, verdict = await_finisher(site, look, verdict, mine)
    return "" if verdict.kind == GREEN else greet(site, look, verdict, mine)[0]


def run_by_hand(
    site: Site, only: Sequence[str] = (), on_change: Callable[[Sequence[str]], None] | None = None
) -> Examination:
    """The suite with time to spare, in the middle of whatever goes on; writes nothing. Raises GateError."""
    look = site.look()
    mine = look.asking(site.environ)
    return judge(site, look, survey(site, look, mine, BY_HAND, only=only, by_hand=True, on_change=on_change))


def end_by_hand(
    site: Site, on_change: Callable[[Sequence[str]], None] | None = None
) -> tuple[Examination, StateError | None]:
    """The same, and the marker is replaced; why, where it could not be. The asking session's record stays: it ends when
    the session does.
    """
    look = site.look()
    mine = look.asking(site.environ)
    surveyed = survey(site, look, mine, BY_HAND, by_hand=True, on_change=on_change)
    try:
        return settle(site, surveyed), None
    except StateError as error:
        return judge(site, site.look(), surveyed), error


def _told(marker: Marker | None, session: str, when: str) -> dict[str, str]:
    told = marker.data.get("told") if marker is not None else None
    kept = dict(list(told.items())[-50:]) if isinstance(told, dict) else {}
    return kept | {session: when}
