"""Which files a new check is made of, and their texts, for each of the places where one can live. Writes nothing."""

from __future__ import annotations

import keyword
import os
import re
import sys
from importlib import resources
from string import Template
from typing import NamedTuple

from gate.errors import GateError
from gate.finding import MACHINE, PROJECT
from gate.quote import line

KINDS = {
    "processes": (MACHINE, "more than 2 processes run {program}"),
    "files": (MACHINE, "$TMPDIR/{program} holds over 100 MiB or more than 20 files"),
    "git": (PROJECT, "a branch of {program}/* has had no commit for over 5 days"),
}
"""What a check can look at: the scope that it then mostly has, and when its skeleton is debt."""

_BESIDE = 'Path(__file__).with_suffix(".md").read_text(encoding="utf-8")'
_BUILT_IN = re.compile(r"^BUILT_IN = \(([^()]*)\)$", re.MULTILINE)
_DISTRIBUTION = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*")
_LINE = 120


class Wanted(NamedTuple):
    """A new check as it was asked for. `incident` is empty where the form is wanted, `summary` where that of the
    skeleton is.
    """

    name: str
    label: str
    looks_at: str
    scope: str
    summary: str
    incident: str

    @property
    def program(self) -> str:
        """What its skeleton looks for until somebody says: a name like the check's."""
        return self.name.replace("_", "-")


class File(NamedTuple):
    """A file to write."""

    path: str
    text: str


class Plan(NamedTuple):
    """What is to be written: the check, its incident and its test, what else there has to be, and a file of this
    project's that changes (else None).
    """

    check: File
    incident: File
    test: File
    others: tuple[File, ...] = ()
    changed: File | None = None

    @property
    def files(self) -> tuple[File, ...]:
        """Every new file."""
        return (*self.others, self.check, self.incident, self.test)


def in_directory(wanted: Wanted, directory: str) -> Plan:
    """A check of one's own, in the user's own directory: all three side by side."""
    stem = os.path.join(directory, wanted.name)
    return Plan(
        File(stem + ".py", _check(wanted, _BESIDE, noqa="  # noqa: RUF009")),
        File(stem + ".md", _incident(wanted)),
        File(os.path.join(directory, f"test_{wanted.name}.py"), _test(wanted, wanted.name)),
    )


def in_package(wanted: Wanted, directory: str) -> Plan:
    """A package of one's own, called like its directory. Raises GateError."""
    distribution = os.path.basename(os.path.abspath(directory))
    package = package_of(directory)
    source = os.path.join(directory, "src", package)
    project = _fill("pyproject.toml", name=wanted.name, package=package, distribution=distribution)
    return Plan(
        File(os.path.join(source, wanted.name + ".py"), _check(wanted, _BESIDE)),
        File(os.path.join(source, wanted.name + ".md"), _incident(wanted)),
        File(
            os.path.join(directory, "tests", f"test_{wanted.name}.py"),
            _test(wanted, f"{package}.{wanted.name}"),
        ),
        (
            File(os.path.join(directory, "pyproject.toml"), project),
            File(os.path.join(source, "__init__.py"), f'"""Checks for session-gate: {wanted.name}."""\n'),
        ),
    )


def package_of(directory: str) -> str:
    """The import name of a package that is called like its directory. Raises GateError."""
    distribution = os.path.basename(os.path.abspath(directory))
    package = re.sub(r"[-.]", "_", distribution.lower())
    if not _DISTRIBUTION.fullmatch(distribution) or keyword.iskeyword(package) or package in sys.stdlib_module_names:
        raise GateError(
            f"--package {line(distribution)}: a package's name is its directory's: take letters, digits and hyphens, "
            "and no name of a module of Python's own, such as session-gate-checks"
        )
    return package


def in_repository(wanted: Wanted, root: str) -> Plan:
    """A check of this project itself, in a checkout at `root`. Raises GateError."""
    registry = os.path.join(root, "gate", "registry.py")
    with open(registry, encoding="utf-8") as file:
        changed = with_built_in(file.read(), wanted.name)
    return Plan(
        File(os.path.join(root, "checks", wanted.name + ".py"), _check(wanted, f'incident_text("{wanted.name}")')),
        File(os.path.join(root, "incidents", wanted.name + ".md"), _incident(wanted)),
        File(
            os.path.join(root, "tests", "checks", f"test_{wanted.name}.py"),
            _test(wanted, f"gate_checks.{wanted.name}"),
        ),
        changed=File(registry, changed) if changed is not None else None,
    )


def find_checkout(directory: str) -> str:
    """The root of the checkout of session-gate that a directory lies in. Raises GateError."""
    here = os.path.realpath(directory)
    while True:
        parts = (("gate", "registry.py"), ("checks", "__init__.py"), ("incidents", "__init__.py"), ("tests", "checks"))
        if all(os.path.exists(os.path.join(here, *part)) for part in parts):
            return here
        if os.path.dirname(here) == here:
            raise GateError("--here: this is no checkout of session-gate: go into one, or leave --here out")
        here = os.path.dirname(here)


def with_built_in(source: str, name: str) -> str | None:
    """The registry's source with one more built-in check, the last; None where the place is not found."""
    match = _BUILT_IN.search(source)
    if match is None:
        return None
    names = [*re.findall(r'"(\w+)"', match[1]), name]
    quoted = [f'"{one}"' for one in names]
    row = f"BUILT_IN = ({', '.join(quoted)})"
    if len(row) > _LINE:
        row = "BUILT_IN = (\n" + "".join(f"    {one},\n" for one in quoted) + ")"
    return source[: match.start()] + row + source[match.end() :]


def _check(wanted: Wanted, incident: str, noqa: str = "") -> str:
    # ruff takes `option(…)` for a mutable default of some types, where no configuration of its own says otherwise.
    beside = incident == _BESIDE
    return _fill(
        f"check_{wanted.looks_at}.py",
        name=wanted.name,
        label=wanted.label,
        program=wanted.program,
        scope=wanted.scope.upper(),
        summary=literal(wanted.summary or KINDS[wanted.looks_at][1].format(program=wanted.program)),
        incident=incident,
        noqa=noqa,
        import_path="from pathlib import Path\n" if beside else "",
        import_incident="" if beside else "    incident_text,\n",
    )


def _test(wanted: Wanted, module: str) -> str:
    statement = f"from {module} import gate_check\n"
    own = module.startswith("gate_checks.")  # here `gate` is the project's own, elsewhere the check is
    return _fill(
        f"test_{wanted.looks_at}.py",
        label=wanted.label,
        program=wanted.program,
        import_before=statement + "\n" if own else "",
        import_after="" if own else "\n" + statement,
    )


def _incident(wanted: Wanted) -> str:
    return wanted.incident or _fill("incident.md")


def _fill(template: str, **values: str) -> str:
    text = resources.files(__package__).joinpath(template + ".tmpl").read_text(encoding="utf-8")
    return Template(text).substitute(values)


def literal(text: str) -> str:
    """A line of text as a string in Python's source, in the quotes that need fewer backslashes, else double ones."""
    quote = "'" if '"' in text and text.count('"') > text.count("'") else '"'
    return quote + text.replace(quote, "\\" + quote) + quote
