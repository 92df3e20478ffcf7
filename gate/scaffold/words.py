"""What can be asked of `gate new`: names, labels and texts, refused in words that say what would do."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys

from gate.errors import GateError
from gate.quote import is_harmful, line
from gate.registry import Registry
from gate.soundness import LABEL, OWN_LABELS, OWN_NAMES, incident_fault

LONGEST_NAME = 30
LONGEST_SUMMARY = 90
"""Characters; then the files that are written need no line of more than 120."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PREFIX = re.compile(r"^debt when\b")


def refuse_name(name: str, registry: Registry) -> None:
    """Raise GateError for what cannot be the name of a new check, which is its module's too."""
    fault = ""
    if not _NAME.fullmatch(name):
        made = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_0123456789")[:LONGEST_NAME]
        proposal = f", such as {made}" if _NAME.fullmatch(made) else ""
        fault = f"is no name of a module: take lower-case letters, digits and underscores{proposal}"
    elif len(name) > LONGEST_NAME:
        fault = f"is too long: take {LONGEST_NAME} characters at most"
    elif keyword.iskeyword(name):
        fault = f"is a word of Python's: take another, such as {name}_left"
    elif name.startswith("test_"):
        fault = f"is a test's name, and would not be loaded: take {name.removeprefix('test_')}"
    elif name in OWN_NAMES:
        fault = f"is what the gate calls its findings about itself: take another, such as {name}_left"
    elif name in sys.stdlib_module_names:
        fault = f"is a module of Python's own, which its test would import: take another, such as {name}_left"
    elif (taken := registry.get(name)) is not None:
        fault = f"is a check already ({line(taken.source)}): take another name"
    if fault:
        raise GateError(f"{line(name)}: {fault}")


def refuse_installed(name: str) -> None:
    """Raise GateError for a name by which a test would import something else that is installed."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is not None:
        where = line(str(found.origin or "a package"))
        raise GateError(f"{name}: is a module that is installed ({where}), which its test would import: take another")


def label_of(given: str | None, name: str, registry: Registry) -> str:
    """The label of a new check: the one that is wanted, else one made of the name. Raises GateError."""
    label = default_label(name) if given is None else given
    if not re.fullmatch(LABEL, label):
        raise GateError(f"--label {line(label)}: a label is a short word in capitals, such as {default_label(name)}")
    taken = next((registered for registered in registry.checks if registered.check.label == label), None)
    if label in OWN_LABELS or taken is not None:
        whose = f"the check {taken.check.name}" if taken is not None else "the gate's findings about itself"
        raise GateError(f"--label {label}: is the label of {whose}: choose another with --label")
    return label


def default_label(name: str) -> str:
    """As many words of a name as a label has room for."""
    first, *words = name.upper().split("_")
    label = first[:12]
    for word in words:
        if len(label) + 1 + len(word) <= 12 and len(first) <= 12:
            label += "_" + word
        else:
            break
    return label.rstrip("_") or "CHECK"


def summary_of(given: str) -> str:
    """The line that says when a check is debt, without the words that stand before it everywhere. Raises GateError."""
    text = _PREFIX.sub("", given.strip(), count=1).strip().rstrip(".")
    if not text or len(text) > LONGEST_SUMMARY or any(map(is_harmful, text)) or "\\" in text:
        raise GateError(
            f"--summary: it is one line of {LONGEST_SUMMARY} characters at most, without backslashes, "
            "that says when it is debt"
        )
    return text


def incident_of(given: str) -> str:
    """An incident's file from a title line and a text. Raises GateError."""
    rows = [row.rstrip() for row in given.strip().splitlines()]
    text = "\n".join(rows) + "\n"
    if fault := incident_fault(text):
        raise GateError(f"--incident: {fault}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise GateError("--incident: it is not UTF-8: give a text that is") from None
    return text if text.startswith("# ") else "# " + text.lstrip("# ")
