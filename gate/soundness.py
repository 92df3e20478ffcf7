"""What a plugin has to be, and what its check may find: all that the engine relies on, asked before it does.

A plugin is other people's code and often written in ten minutes. What is wrong with it is said in words that tell how
to mend it, at the place where it can be kept apart from the other checks.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from typing import Any

from gate.check import Check, Options
from gate.config.options import Texts, kinds_of
from gate.errors import UnknownError
from gate.finding import KINDS, MACHINE, PROJECT, Chosen, Finding, Subject
from gate.project import digest
from gate.quote import Phrase, ShellWord, say, short
from gate.units import Duration, Size

OPEN = "(to write: "
"""Begins each question of the form that `gate new` puts into an incident; who answers it takes it away."""

OWN_NAMES = ("config", "plugins")
OWN_LABELS = ("CONFIG", "PLUGIN")
"""What the gate's findings about itself are called (`gate.own_findings`)."""

FAULT = "the check is at fault, and whoever wrote it can mend it: gate list says where it comes from"

LABEL = r"[A-Z][A-Z0-9_-]{0,11}"
"""What a label is: a short word in capitals."""

_LONGEST = 300
_SHOWN = 21
"""Details that can come to be shown, and one more."""

_KINDS: dict[Any, type | tuple[type, ...]] = {
    bool: bool, int: int, float: (int, float), str: str, tuple: tuple, Texts: tuple, Size: int,
    Duration: (int, float),
}  # fmt: skip
_NAMES = (str, bytes, os.PathLike, Phrase, ShellWord, int, float)


class RefusedError(Exception):
    """A plugin that does not keep to the contract; its text says what to change."""


def words(error: BaseException) -> str:
    """What an error says, in one line of bounded length. Never raises."""
    try:
        return " ".join(str(error).split())[:_LONGEST]
    except BaseException:  # noqa: BLE001 - an error's text can be other people's code too
        return "(an error without words)"


def told(error: BaseException) -> str:
    """The same with the kind of error, for one that nobody meant to raise."""
    text = words(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def fit(check: object) -> Check:
    """The check, if the engine can rely on it. Raises RefusedError."""
    if not isinstance(check, Check):
        raise RefusedError(f"gate_check returned {type(check).__name__}: return a gate.api.Check")
    for fault in _faults(check):
        raise RefusedError(fault)
    return check


def _faults(check: Check) -> Iterator[str]:
    if not isinstance(check.name, str) or not check.name.isidentifier() or not check.name.isascii():
        yield f"is named {check.name!r}: a check's name is a word of letters, digits and underscores"
    if check.name in OWN_NAMES:
        yield f"is named {check.name!r}, as the gate's findings about itself: give it another name"
    if not isinstance(check.label, str) or not re.fullmatch(LABEL, check.label):
        yield f"has the label {check.label!r}: a label is a short word in capitals"
    if check.label in OWN_LABELS:
        yield f"has the label {check.label!r}, as the gate's findings about itself: give it another label"
    if fault := incident_fault(check.incident):
        yield fault
    if not isinstance(check.summary, str) or not check.summary.strip():
        yield "has no summary: write a line that says when it is debt"
    if not callable(check.run):
        yield "has a `run` that cannot be called: name the function that finds"
    if check.scope not in (PROJECT, MACHINE):
        yield f"has the scope {check.scope!r}: it is {PROJECT!r} or {MACHINE!r}"
    if isinstance(check.limit, bool) or not isinstance(check.limit, (int, float)) or not 0 < check.limit < math.inf:
        yield f"has the limit {check.limit!r}: it is a number of seconds, more than 0"
    yield from _faults_of_options(check.options)


def incident_fault(text: object) -> str:
    """Why a text is no incident, and what to write; empty where it is one."""
    if not isinstance(text, str) or len(text.split()) < 5:
        return "names no incident: put into `incident` what happened, what was left, and how it is cleared"
    unanswered, heading = [], "the title"
    for row in text.splitlines():
        if OPEN in row:
            unanswered.append(heading)
        elif row.startswith("#"):
            heading = row.lstrip("# ").strip()
    if not unanswered:
        return ""
    return f"has an incident that is still the form: write what its lines '{OPEN}…)' ask for: {', '.join(unanswered)}"


def _faults_of_options(options: Any) -> Iterator[str]:
    if not isinstance(options, type) or not issubclass(options, Options):
        yield "has options that are not a frozen dataclass which extends gate.api.Options"
    elif not is_dataclass(options) or "__dataclass_fields__" not in vars(options):
        yield f"has options that are no dataclass: put @dataclass(frozen=True) above {options.__name__}"
    else:
        kinds = kinds_of(options)
        for name, kind in kinds.items():
            if kind not in _KINDS:
                shown = getattr(kind, "__name__", str(kind))
                yield (
                    f"has the option {name!r} of the type {shown}, which configuration cannot give: "
                    "make it bool, int, float, str, tuple[str, ...], Size or Duration"
                )
        try:
            made = options()
        except Exception as error:  # noqa: BLE001 - an options class is other people's code
            yield f"has options without working defaults ({told(error)}): give each one with option(default, text)"
            return
        for name, kind in kinds.items():
            if not _is_a(getattr(made, name), kind):
                yield f"has the option {name!r} with the default {getattr(made, name)!r}, which is not of its type"


def _is_a(value: object, kind: Any) -> bool:
    if isinstance(value, tuple):
        return isinstance(value, _KINDS[kind]) and all(isinstance(item, str) for item in value)
    return isinstance(value, _KINDS[kind]) and (kind is bool or not isinstance(value, bool))


def sound(finding: object) -> Finding:
    """The finding, such that nothing about it can fail later, outside of the check. Raises UnknownError."""
    if not isinstance(finding, Finding):
        raise UnknownError(f"the check yielded a {type(finding).__name__} instead of a Finding", FAULT)
    made = finding
    try:
        fault = _fault_of(finding)
        if not fault:
            made = replace(finding, subjects=tuple(finding.subjects), details=tuple(finding.details))
            fault = next(filter(None, map(_fault_of_subject, made.subjects)), "")
        if not fault:
            made = replace(made, subjects=tuple(map(_storable, made.subjects)))
            _render(made)
    except Exception as error:  # noqa: BLE001 - values and summaries are other people's code
        fault = f"which cannot be put into words: {short(told(error), 200)}"
    if fault:
        raise UnknownError(f"the check yielded a Finding {fault}", FAULT)
    if isinstance(made.summary, Phrase):
        return made
    return replace(made, summary=_Guarded(made.summary))


def _fault_of(finding: Finding) -> str:
    if not isinstance(finding.key, str):
        return f"whose key is no text but {type(finding.key).__name__}"
    finding.key.encode("utf-8", "surrogateescape")
    if finding.kind not in KINDS:
        return f"of the kind {finding.kind!r}: it is one of {', '.join(map(repr, KINDS))}"
    if not isinstance(finding.summary, Phrase) and not callable(finding.summary):
        return "whose summary is not made by say(…)"
    if not isinstance(finding.remedy, Phrase) or not all(isinstance(detail, Phrase) for detail in finding.details):
        return "whose remedy or details are not made by say(…)"
    return "" if isinstance(finding.tolerated, int) else "whose `tolerated` is no number"


def _fault_of_subject(subject: object) -> str:
    if not isinstance(subject, Subject):
        return f"about a {type(subject).__name__} instead of a Subject"
    subject.key.encode("utf-8", "surrogateescape")
    texts = (subject.tag, subject.worktree, subject.directory)
    if (
        (subject.changed is None or isinstance(subject.changed, (int, float)))
        and isinstance(subject.state, str)
        and isinstance(subject.name, _NAMES)
        and all(text is None or isinstance(text, str) for text in texts)
        and (subject.detail is None or isinstance(subject.detail, Phrase))
    ):
        for phrase in (subject.name, subject.detail):
            if isinstance(phrase, Phrase):
                str(phrase)
        return ""
    return f"about a Subject with a field of the wrong type: {subject!r}"[:_LONGEST]


def _storable(subject: Subject) -> Subject:
    """A subject with a state that a marker can hold: one made of a file's name need not be UTF-8, and one made of what
    a file holds may be as long as that.
    """
    state = subject.state
    if len(state) > _LONGEST:
        state = f"{state[:_LONGEST]} {digest(state.encode('utf-8', 'surrogatepass'))}"
    if not state.isascii():
        state = state.encode("utf-8", "backslashreplace").decode()
    return replace(subject, state=state) if state != subject.state else subject


def _render(finding: Finding) -> None:
    """Try all its own words; what they raise is raised here."""
    if not isinstance(finding.summarise(finding.subjects), Phrase):
        raise TypeError("its summary is not made by say(…)")
    for phrase in (finding.summarise(finding.subjects), finding.remedy, *finding.details[:_SHOWN]):
        str(phrase)


class _Guarded:
    """A summary of other people's making, which is called once more for those subjects that a session answers for."""

    def __init__(self, summary: Any) -> None:
        self._summary = summary

    def __call__(self, chosen: Chosen) -> Phrase:
        """What it says; where that fails, how many there are."""
        try:
            made = self._summary(chosen)
            str(made)
        except Exception as error:  # noqa: BLE001 - see above
            return say("{} found; what the check says of them failed: {}", chosen.count, told(error))
        return made if isinstance(made, Phrase) else say("{} found", chosen.count)
