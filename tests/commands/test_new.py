"""From a post-mortem to a check: what is written works at once, in each of the places where a check can live."""

from __future__ import annotations

import ast
import json
import keyword
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from installed import Installation
from kit import GATE, PYTHON, TIMEOUT, Machine, child

import gate
from gate.errors import GateError
from gate.registry import BUILT_IN, load_registry
from gate.scaffold import words
from gate.scaffold.plan import KINDS, Wanted, find_checkout, in_directory, literal, package_of, with_built_in

ROOT = Path(__file__).parent.parent.parent
PACKAGE = Path(next(iter(gate.__path__)))
INCIDENT = "Twelve lamps were left on by one session\n\nOn a Monday; each goes when it is switched off."


@pytest.fixture
def checks(machine: Machine) -> Path:
    return machine.config.parent / "checks"


def tool(*command: str | Path, cwd: Path, env: Mapping[str, str], code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=3 * TIMEOUT,
    )
    assert done.returncode == code, (command, done.stdout.decode())
    return done.stdout.decode()


def pytest_in(cwd: Path, machine: Machine, *paths: str, **environ: str) -> str:
    command = ("pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", *paths)
    return tool(*command, cwd=cwd, env=machine.environ | environ)


def ruff(cwd: Path, machine: Machine) -> None:
    tool("ruff", "check", "--no-cache", ".", cwd=cwd, env=machine.environ)
    tool("ruff", "format", "--no-cache", "--check", ".", cwd=cwd, env=machine.environ)


@pytest.fixture
def leave(machine: Machine, project: Path) -> Iterator[Mapping[str, object]]:
    """For each kind, a way to leave in reality what its skeleton looks for."""
    with ExitStack() as stack:

        def processes() -> None:
            program = machine.directory / "lamps-left"
            program.write_text("#!/bin/sh\necho; read -r _\n")
            program.chmod(0o755)
            for _ in range(3):
                stack.enter_context(child(program))

        def files() -> None:
            place = machine.temp / "lamps-left"
            place.mkdir()
            for number in range(21):
                (place / str(number)).touch()

        def git() -> None:
            environ = {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
            machine.environ.update(environ)
            machine.git(project, "commit", "--quiet", "--allow-empty", "--message", "old")
            machine.git(project, "branch", "lamps-left/one")

        yield {"processes": processes, "files": files, "git": git}


@pytest.mark.parametrize("kind", KINDS)
def test_a_check_of_ones_own_works_as_it_is_written(
    machine: Machine, project: Path, checks: Path, kind: str, leave: Mapping[str, object]
) -> None:
    text = machine.text("new", "lamps_left", "--looks-at", kind, "--incident", INCIDENT, cwd=project)
    assert sorted(os.listdir(checks)) == ["lamps_left.md", "lamps_left.py", "test_lamps_left.py"]
    for name in os.listdir(checks):
        assert f"Wrote {checks / name}\n" in text
    steps = text.partition("Next:\n")[2].splitlines()
    assert [step[:5] for step in steps] == ["  1. ", "  2. ", "  3. "]
    assert f"{PYTHON} -m pytest {checks / 'test_lamps_left.py'}, then gate run lamps_left." in steps[2]

    assert " passed" in pytest_in(checks, machine, ".")
    ruff(checks, machine)
    rows = {row["check"]: row for row in machine.json("list", cwd=project)["checks"]}
    assert (rows["lamps_left"]["label"], rows["lamps_left"]["scope"]) == ("LAMPS_LEFT", KINDS[kind][0])
    assert rows["lamps_left"]["source"] == str(checks / "lamps_left.py")
    assert rows["lamps_left"]["incident"] == "Twelve lamps were left on by one session"
    assert "On a Monday; each goes when it is switched off." in machine.text("explain", "lamps_left", cwd=project)

    assert "ok: nothing left behind" in machine.text("run", "lamps_left", cwd=project)
    leave[kind]()  # type: ignore[operator]
    report = machine.json("run", "lamps_left", cwd=project, code=1)
    (finding,) = report["findings"]
    assert (finding["label"], finding["kind"]) == ("LAMPS_LEFT", "debt")
    assert finding["remedy"]


def test_mypy_has_nothing_to_say(machine: Machine, project: Path, checks: Path) -> None:
    """One run for all, because it takes a while to read what a check imports."""
    package = machine.directory / "session-gate-lamps"
    for kind in KINDS:
        machine.text("new", f"own_{kind}", "--looks-at", kind, "--incident", INCIDENT, cwd=project)
        machine.text(
            "new", f"in_{kind}", "--looks-at", kind, "--package", str(package.with_name(f"lamps-{kind}")), cwd=project
        )
    paths = [checks, *(package.with_name(f"lamps-{kind}") / "src" for kind in KINDS)]
    environ = machine.environ | {"MYPYPATH": os.pathsep.join(map(str, [ROOT, *paths]))}
    tests = [package.with_name(f"lamps-{kind}") / "tests" for kind in KINDS]
    tool("mypy", "--strict", "--cache-dir", machine.directory / "mypy", *paths, *tests, cwd=project, env=environ)


def test_until_its_incident_is_written_a_check_is_refused(machine: Machine, project: Path, checks: Path) -> None:
    text = machine.text("new", "lamps_left", cwd=project)
    assert "1. Answer the questions in lamps_left.md; until then the check is refused, and that is said." in text
    form = checks / "lamps_left.md"
    (problem,) = machine.json("list", cwd=project)["problems"]
    assert problem["source"] == str(checks / "lamps_left.py")
    assert problem["text"] == (
        "has an incident that is still the form: write what its lines '(to write: …)' ask for: the title, "
        "What happened, What was left, What would have seen it, What must not be mistaken for it, How to clear it"
    )
    assert "PLUGIN (unknown): could not check: " in machine.text("run", cwd=project, code=1)
    for command in ("run", "explain"):
        done = machine.gate(command, "lamps_left", cwd=project)
        assert done.returncode == 2
        assert f"lamps_left: {checks / 'lamps_left.py'} has an incident that is still the form".encode() in done.stderr
    failed = tool("pytest", "-q", "-p", "no:cacheprovider", ".", cwd=checks, env=machine.environ, code=1)
    assert "has an incident that is still the form" in failed

    answers = [
        row if "(to write: " not in row else "# Twelve lamps" * (row[0] == "#") or "Lamps." for row in rows(form)
    ]
    form.write_text("\n".join([*answers[:-1], "(to write: …)"]))
    (problem,) = machine.json("list", cwd=project)["problems"]
    assert problem["text"].endswith(" ask for: How to clear it")
    form.write_text("\n".join(answers))
    assert machine.json("list", cwd=project)["problems"] == []
    assert " passed" in pytest_in(checks, machine, ".")
    machine.text("run", "lamps_left", cwd=project)


def rows(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_a_package_of_ones_own(machine: Machine, project: Path) -> None:
    text = machine.text(
        "new", "lamps_left", "--package", "session-gate-lamps", "--incident", INCIDENT, "--looks-at", "git", cwd=project
    )
    directory = project / "session-gate-lamps"
    made = sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())
    assert made == [
        "pyproject.toml",
        "src/session_gate_lamps/__init__.py",
        "src/session_gate_lamps/lamps_left.md",
        "src/session_gate_lamps/lamps_left.py",
        "tests/test_lamps_left.py",
    ]
    assert f"-m pip install -e {directory}, then {PYTHON} -m pytest {directory}, then gate run" in text
    assert " passed" in pytest_in(directory, machine)
    ruff(directory, machine)
    described = tomllib.loads((directory / "pyproject.toml").read_text())
    assert described["project"]["name"] == "session-gate-lamps"
    assert described["project"]["entry-points"]["session_gate"] == {"lamps_left": "session_gate_lamps.lamps_left"}
    # What its name says is found by it, and the incident beside it.
    installation = Installation(machine, project)
    shutil.copytree(directory / "src" / "session_gate_lamps", installation.site / "session_gate_lamps")
    info = installation.site / "session_gate_lamps-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: session-gate-lamps\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[session_gate]\nlamps_left = session_gate_lamps.lamps_left\n")
    assert installation.json("list")["checks"][-1]["source"] == "package session-gate-lamps 0.1.0"


def can_build() -> bool:
    """Whether setuptools can make a wheel here; by itself it does since 70.1."""
    if find_spec("setuptools") is None:
        return False
    version = tuple(map(int, metadata.version("setuptools").split(".")[:2]))
    return version >= (70, 1) or find_spec("wheel") is not None


@pytest.mark.skipif(not can_build(), reason="no setuptools here that can build a wheel")
def test_a_package_of_ones_own_can_be_installed(machine: Machine, project: Path) -> None:
    directory = machine.directory / "session-gate-lamps"
    machine.text("new", "lamps_left", "--package", str(directory), "--incident", INCIDENT, cwd=project)
    installation = Installation(machine, project)
    installation.install(directory)
    row = installation.json("list")["checks"][-1]
    assert (row["check"], row["source"]) == ("lamps_left", "package session-gate-lamps 0.1.0")
    assert "On a Monday" in installation.text("explain", "lamps_left")


@pytest.fixture
def checkout(machine: Machine) -> Path:
    """A copy of this very project, and in `links` its packages under the names that they are imported by."""
    root = machine.directory / "checkout"
    hidden = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("gate", "checks", "incidents", "tests"):
        shutil.copytree(ROOT / name, root / name, ignore=hidden)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, root / name)
    links = machine.directory / "links"
    links.mkdir()
    for name, folder in (("gate", "gate"), ("gate_checks", "checks"), ("gate_incidents", "incidents")):
        (links / name).symlink_to(root / folder)
    return root


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_this_projects_own(machine: Machine, checkout: Path, kind: str) -> None:
    command = ("new", "lamps_left", "--here", "--incident", INCIDENT, "--looks-at", kind)
    text = machine.text(*command, cwd=checkout / "gate")
    for path in ("checks/lamps_left.py", "incidents/lamps_left.md", "tests/checks/test_lamps_left.py"):
        assert f"Wrote {checkout / path}\n" in text
    assert f"Changed {checkout / 'gate' / 'registry.py'}: BUILT_IN, the last of it\n" in text
    links = str(machine.directory / "links")
    chosen = ("tests/checks/test_lamps_left.py", "tests/test_registry.py", "-k", "lamps_left or every_module_of_checks")
    done = pytest_in(checkout, machine, *chosen, PYTHONPATH=links)
    assert " passed" in done
    assert "failed" not in done
    made = ("checks/lamps_left.py", "tests/checks/test_lamps_left.py", "gate/registry.py")
    tool("ruff", "check", "--no-cache", *made, cwd=checkout, env=machine.environ)
    tool("ruff", "format", "--no-cache", "--check", *made, cwd=checkout, env=machine.environ)
    listed = tool("gate", "list", cwd=machine.directory, env=machine.environ | {"PYTHONPATH": links})
    assert "lamps_left (" in listed
    assert ", built in)" in listed.partition("lamps_left (")[2].partition("\n")[0]


def test_outside_of_a_checkout_there_is_no_here(machine: Machine, project: Path) -> None:
    done = machine.gate("new", "lamps_left", "--here", cwd=project)
    assert done.returncode == 2
    assert b"--here: this is no checkout of session-gate" in done.stderr


@pytest.mark.parametrize("name", ["lamps_left.py", "lamps_left.md", "test_lamps_left.py"])
@pytest.mark.parametrize("there", ["file", "link", "directory"])
def test_nothing_is_overwritten_and_then_nothing_is_written(
    machine: Machine, project: Path, checks: Path, name: str, there: str
) -> None:
    checks.mkdir(mode=0o700)
    if there == "file":
        (checks / name).write_text("mine")
    elif there == "link":
        (checks / name).symlink_to("nowhere")
    else:
        (checks / name).mkdir()
    done = machine.gate("new", "lamps_left", "--incident", INCIDENT, cwd=project)
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"{checks / name}: is there already and is not overwritten".encode() in done.stderr
    assert os.listdir(checks) == [name]


def test_a_second_check_does_not_touch_a_package_that_is_there(machine: Machine, project: Path) -> None:
    machine.text("new", "lamps_left", "--package", "lamps", cwd=project)
    before = (project / "lamps" / "pyproject.toml").read_bytes()
    done = machine.gate("new", "doors_left", "--package", "lamps", cwd=project)
    assert done.returncode == 2
    assert b"lamps/pyproject.toml: is there already and is not overwritten" in done.stderr
    assert (project / "lamps" / "pyproject.toml").read_bytes() == before


def test_what_cannot_be_written_leaves_nothing_behind(machine: Machine, project: Path) -> None:
    (project / "lamps").mkdir()
    (project / "lamps" / "tests").write_text("in the way")
    done = machine.gate("new", "lamps_left", "--package", "lamps", cwd=project)
    assert done.returncode == 2
    assert b"tests: cannot be written: File exists; nothing was" in done.stderr
    assert os.listdir(project / "lamps") == ["tests"]


def test_whatever_the_umask_says_a_check_is_one_that_is_loaded(machine: Machine, project: Path, checks: Path) -> None:
    command = ["sh", "-c", 'umask 0; exec "$0" new lamps_left --incident "$1"', str(GATE), INCIDENT]
    subprocess.run(command, cwd=project, env=machine.environ, check=True, capture_output=True, timeout=TIMEOUT)
    assert load_registry(str(checks)).get("lamps_left") is not None


def test_a_directory_that_others_can_write_is_no_place_for_a_check(
    machine: Machine, project: Path, checks: Path
) -> None:
    checks.mkdir()
    checks.chmod(0o777)
    done = machine.gate("new", "lamps_left", cwd=project)
    assert done.returncode == 2
    assert b"others can write there; take that right away with chmod go-w" in done.stderr
    assert not os.listdir(checks)


def test_a_dry_run_shows_it_and_writes_nothing(machine: Machine, project: Path, checks: Path) -> None:
    text = machine.text("new", "lamps_left", "--dry-run", cwd=project)
    assert f"Would write {checks / 'lamps_left.py'}\n" in text
    assert not checks.exists()
    value = machine.json("new", "lamps_left", "--dry-run", cwd=project)
    assert value["dry_run"] is True
    assert not checks.exists()
    made = machine.json("new", "lamps_left", cwd=project)
    assert made == value | {"dry_run": False}
    assert [os.path.basename(path) for path in made["files"]] == sorted(os.listdir(checks), key=made_first)
    jsonschema.validate(made, json.loads((PACKAGE / "schemas" / "new.schema.json").read_text()))
    done = machine.gate("new", "lamps_left", "--dry-run", cwd=project)
    assert done.returncode == 2, "what could not be written is said by a dry run too"


def made_first(name: str) -> tuple[bool, bool]:
    return name.startswith("test_"), name.endswith(".md")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lamps-left", "lamps-left: is no name of a module: take lower-case letters, digits and underscores, such as "),
        ("Lamps Left!", "such as lamps_left"),
        ("7lamps", "such as lamps"),
        ("_lamps", "such as lamps"),
        ("lämpchen", "such as l_mpchen"),
        ("--", "is missing"),
        ("", "is no name of a module: take lower-case letters, digits and underscores"),
        ("class", "class: is a word of Python's: take another, such as class_left"),
        ("test_lamps", "test_lamps: is a test's name, and would not be loaded: take lamps"),
        ("json", "json: is a module of Python's own, which its test would import: take another, such as json_left"),
        ("click", "click: is a module that is installed ("),
        ("plugins", "plugins: is what the gate calls its findings about itself"),
        ("temp_size", "temp_size: is a check already (built in): take another name"),
        ("a" * 31, "is too long: take 30 characters at most"),
    ],
)
def test_a_name_that_cannot_be_one_is_refused_with_a_cure(
    machine: Machine, project: Path, checks: Path, name: str, said: str
) -> None:
    done = machine.gate("new", name, cwd=project)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert not checks.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--label", "TMP"], "--label TMP: is the label of the check temp_size: choose another with --label"),
        (["--label", "CONFIG"], "--label CONFIG: is the label of the gate's findings about itself"),
        (["--label", "lamps"], "--label lamps: a label is a short word in capitals, such as LAMPS_LEFT"),
        (["--label", "A" * 13], "a label is a short word in capitals"),
        (["--summary", "debt when "], "--summary: it is one line of 90 characters at most"),
        (["--summary", "two\nlines"], "--summary: it is one line of 90 characters at most"),
        (["--summary", "x" * 91], "--summary: it is one line of 90 characters at most"),
        (["--incident", "lamps"], "--incident: names no incident: put into `incident` what happened"),
        (
            ["--incident", "# Lamps\n(to write: when and where, in figures)"],
            "--incident: has an incident that is still",
        ),
        (["--looks-at", "lamps"], "--looks-at: 'lamps' is not one of 'processes', 'files', 'git'"),
        (["--package", "x", "--here"], "one of these: --package, --here"),
        (
            ["--package", "json"],
            "--package json: a package's name is its directory's: take letters, digits and hyphens",
        ),
        (["--package", "a b"], "--package a b: a package's name is its directory's"),
        (["--package", "click"], "click: is a module that is installed ("),
    ],
)
def test_what_cannot_be_asked_for_is_refused_with_a_cure(
    machine: Machine, project: Path, checks: Path, options: list[str], said: str
) -> None:
    done = machine.gate("new", "lamps_left", *options, cwd=project)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()
    assert not checks.exists()
    assert machine.git(project, "status", "--porcelain") == ""


def test_an_incident_can_come_from_standard_input(machine: Machine, project: Path, checks: Path) -> None:
    done = machine.gate("new", "lamps_left", "--incident", "-", cwd=project, payload=b"\xff\xfe")
    assert done.returncode == 2
    assert b"--incident -: standard input is not UTF-8" in done.stderr
    text = "# Zwölf Lampen waren an, ohne Not\r\n\r\nAm Montag."
    done = machine.gate("new", "lamps_left", "--incident", "-", cwd=project, payload=text.encode())
    assert done.returncode == 0, done.stderr
    assert (checks / "lamps_left.md").read_text() == "# Zwölf Lampen waren an, ohne Not\n\nAm Montag.\n"


def test_scope_label_and_summary_are_the_ones_that_were_asked_for(machine: Machine, project: Path) -> None:
    summary = 'debt when more than 2 "lamps" burn at 5 o\'clock.'
    options = ("--label", "LAMP", "--scope", "project", "--summary", summary, "--incident", INCIDENT)
    machine.text("new", "lamps_left", *options, cwd=project)
    row = next(row for row in machine.json("list", cwd=project)["checks"] if row["check"] == "lamps_left")
    assert (row["label"], row["scope"]) == ("LAMP", "project")
    assert row["summary"] == 'more than 2 "lamps" burn at 5 o\'clock'


# ---- the parts

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,29}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))
LINES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=90)


@given(name=NAMES, summary=LINES, kind=st.sampled_from(list(KINDS)))
def test_whatever_it_is_called_the_check_is_python_and_says_what_was_asked_for(
    name: str, summary: str, kind: str
) -> None:
    try:
        summary = words.summary_of(summary)
    except GateError:
        return
    label = words.default_label(name)
    assert re.fullmatch(words.LABEL, label)
    plan = in_directory(Wanted(name, label, kind, "project", summary, ""), "/checks")
    tree = ast.parse(plan.check.text)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Return) and isinstance(node.value, ast.Call))
    given = {word.arg: word.value for word in call.value.keywords}  # type: ignore[union-attr]
    assert ast.literal_eval(given["name"]) == name
    assert ast.literal_eval(given["summary"]) == summary
    ast.parse(plan.test.text)
    for file in (plan.check, plan.test):
        assert "$" not in file.text.replace("$TMPDIR", "").replace(summary, "")
        assert all(len(row) <= 120 for row in file.text.splitlines())


@given(LINES.filter(lambda text: "\\" not in text))
def test_a_text_in_quotes_is_that_text(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text


@given(st.lists(NAMES, min_size=1, max_size=20))
def test_a_check_is_added_to_those_that_are_built_in(names: list[str]) -> None:
    source: str | None = (ROOT / "gate" / "registry.py").read_text()
    for name in names:
        assert source is not None
        source = with_built_in(source, name)
    assert source is not None
    assigned = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "BUILT_IN"
    )
    assert ast.literal_eval(assigned.value) == (*BUILT_IN, *names)
    assert all(len(row) <= 120 for row in source.splitlines())


def test_a_registry_that_looks_otherwise_is_left_alone() -> None:
    assert with_built_in("BUILT_IN = tuple(find())\n", "lamps") is None


def test_a_package_is_called_like_its_directory() -> None:
    assert package_of("/x/session-gate-Lamps.Left") == "session_gate_lamps_left"
    for wrong in ("/x/-lamps", "/x/lämps", "/x/class", "/x/a--b", "/"):
        with pytest.raises(GateError, match="a package's name is its directory's"):
            package_of(wrong)


def test_a_checkout_is_found_from_anywhere_in_it() -> None:
    assert find_checkout(str(ROOT / "tests" / "commands")) == str(ROOT)


def test_every_template_is_in_the_package() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "gate.scaffold" in described["packages"]
    patterns = described["package-data"]["gate.scaffold"]
    others = [path for path in (PACKAGE / "scaffold").iterdir() if path.is_file() and path.suffix != ".py"]
    assert len(others) == 2 * len(KINDS) + 2
    assert not [path.name for path in others if not any(path.match(pattern) for pattern in patterns)]
