"""Imports only go down, the silent path stays what it is, and the layout can be read off this table."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gate

GATE = Path(next(iter(gate.__path__)))
FLOORS = [
    {
        "", "errors", "clock", "jsontext", "directories", "files", "foreign", "quote", "units", "spelling", "finding",
        "tags", "detach", "watchdog", "interrupt",
    },
    {"payload", "project", "liveness", "stamp", "trail", "world"},
    {"marker", "ledger", "fired", "state", "verdict", "site", "config", "check", "waivers", "trust", "api"},
    {
        "soundness", "own_checks", "registry", "suite", "attribution", "report", "baseline", "neighbours",
        "examination", "kin", "own_findings", "settlement", "pruning", "survey",
    },
    {
        "clients", "diagnosis", "output", "scaffold", "wiring", "sessions", "boundary", "silent", "hook", "detached",
        "unanswered",
    },
    {"commands", "__main__", "testing"},
]  # fmt: skip


def room(module: str) -> str:
    return module.partition(".")[0]


def floor(name: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def imports(path: Path) -> set[str]:
    """The rooms of this package that a module imports when it is loaded (not later, not for types alone)."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "gate":
            rest = (node.module or "").removeprefix("gate").lstrip(".")
            names = [alias.name for alias in node.names]
            found |= {room(rest)} if rest else {name if (GATE / f"{name}.py").exists() else "" for name in names}
    return found


@pytest.mark.parametrize("path", sorted(GATE.rglob("*.py")), ids=lambda path: str(path.relative_to(GATE)))
def test_imports_only_go_down(path: Path) -> None:
    own = room(".".join(path.relative_to(GATE).with_suffix("").parts)).removeprefix("__init__")
    for other in imports(path) - {own}:
        assert floor(other) <= floor(own), f"{own} imports {other}, which is above it"


def test_there_is_no_circle() -> None:
    edges = {path.stem: imports(path) - {path.stem} for path in GATE.glob("*.py")}
    for package in ("clients", "config", "output", "scaffold", "wiring", "world", "commands"):
        paths = list((GATE / package).glob("*.py"))
        edges[package] = set().union(*[imports(path) for path in paths]) - {package}
    done: set[str] = set()
    while ready := [name for name, below in edges.items() if name not in done and not (below & set(edges)) - done]:
        done |= set(ready)
    assert set(edges) - done == set(), "these import each other"


def test_the_table_names_what_there_is() -> None:
    rooms = {path.stem.removeprefix("__init__") for path in GATE.glob("*.py")}
    rooms |= {path.parent.name for path in GATE.glob("*/__init__.py")}
    assert rooms == set().union(*FLOORS)


def test_no_module_is_long() -> None:
    long = {path.name: lines for path in GATE.rglob("*.py") if (lines := len(path.read_text().splitlines())) > 330}
    assert long == {}
