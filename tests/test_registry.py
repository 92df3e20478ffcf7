from __future__ import annotations

import ast
import sys
from pathlib import Path

import gate_checks
import gate_incidents
import pytest

from gate.registry import BUILT_IN, load_registry

CHECKS = Path(next(iter(gate_checks.__path__)))
PLUGIN = '''
from gate.api import Check, Finding, hookimpl, say

def find(context):
    yield Finding(key="x", summary=say("x is left"))

@hookimpl
def gate_check():
    return Check(name="{name}", label="MINE", incident="""{incident}""", summary="debt when x", run=find)
'''
INCIDENT = "# Twelve kernels\nOn a Monday twelve kernels were found running, three days old."


@pytest.fixture
def own(tmp_path: Path) -> Path:
    directory = tmp_path / "checks"
    directory.mkdir(mode=0o700)
    return directory


def test_every_module_of_checks_is_built_in_and_each_has_its_incident() -> None:
    modules = {path.stem for path in CHECKS.glob("*.py")} - {"__init__"}
    assert modules == set(BUILT_IN)
    registry = load_registry()
    assert [registered.check.name for registered in registry.checks[: len(BUILT_IN)]] == list(BUILT_IN)
    assert not registry.problems
    incidents = {path.stem for path in Path(next(iter(gate_incidents.__path__))).glob("*.md")}
    assert incidents == set(BUILT_IN)
    for registered in registry.checks:
        assert registered.check.incident.startswith("# ")
        assert registered.check.label.isupper()


@pytest.mark.parametrize("path", sorted(CHECKS.glob("[a-z]*.py")), ids=lambda path: path.stem)
def test_a_check_imports_only_the_public_interface_and_fits_on_a_screen(path: Path) -> None:
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            assert name == "gate.api" or name.partition(".")[0] in sys.stdlib_module_names
    body = [node for node in ast.parse(source).body if not isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(source.splitlines()) - body[1].lineno < 90


def test_the_folder_of_checks_lands_under_its_own_name_only() -> None:
    assert "checks" not in sys.modules
    assert gate_checks.__name__ == "gate_checks"


def test_a_file_in_the_users_own_directory_is_a_check(own: Path) -> None:
    (own / "kernels.py").write_text(PLUGIN.format(name="kernels", incident=INCIDENT))
    (own / "test_kernels.py").write_text("raise RuntimeError('a test is not loaded')")
    (own / "_helper.py").write_text("raise RuntimeError('nor is a helper')")
    registry = load_registry(str(own))
    registered = registry.get("kernels")
    assert not registry.problems
    assert registered is not None
    assert registered.source == str(own / "kernels.py")
    assert registered.check.incident_title == "Twelve kernels"


@pytest.mark.parametrize(
    ("source", "cure"),
    [
        ("raise ValueError('no')", "ValueError: no"),
        ("import sys; sys.exit(1)", "SystemExit"),
        ("syntax error", "SyntaxError"),
        ("x = 1", "defines no gate_check"),
        (PLUGIN.format(name="mine", incident=""), "names no incident"),
        (PLUGIN.format(name="two words", incident=INCIDENT), "a check's name is a word"),
        (PLUGIN.format(name="temp_size", incident=INCIDENT), "give it another name"),
        (
            PLUGIN.replace("def gate_check", "def gate_chekc").format(name="mine", incident=INCIDENT),
            "defines no gate_check",
        ),
        (PLUGIN.replace('"MINE"', '"mine"').format(name="mine", incident=INCIDENT), "a short word in capitals"),
        (
            PLUGIN.replace("return Check(", "return dict(").format(name="mine", incident=INCIDENT),
            "return a gate.api.Check",
        ),
        (PLUGIN.replace("run=find", "run=find, scope='x'").format(name="mine", incident=INCIDENT), "scope"),
        (PLUGIN.replace("run=find", "run=find, options=dict").format(name="mine", incident=INCIDENT), "extends"),
    ],
)
def test_a_broken_plugin_is_named_with_its_cure_and_takes_nothing_along(own: Path, source: str, cure: str) -> None:
    (own / "broken.py").write_text(source)
    (own / "good.py").write_text(PLUGIN.format(name="good", incident=INCIDENT))
    registry = load_registry(str(own))
    (problem,) = registry.problems
    assert problem.source.endswith("broken.py")
    assert cure in problem.text
    assert [registered.check.name for registered in registry.checks] == [*BUILT_IN, "good"]


def test_a_directory_that_others_can_write_is_refused(own: Path) -> None:
    (own / "kernels.py").write_text(PLUGIN.format(name="kernels", incident=INCIDENT))
    own.chmod(0o777)
    registry = load_registry(str(own))
    assert registry.get("kernels") is None
    assert "others can write there" in registry.problems[0].text
