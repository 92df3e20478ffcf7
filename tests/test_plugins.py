"""Checks that others wrote: found where they are installed, and whatever they do, they take nothing along.

Real packages that pip installs into a real environment, and files in a user's own directory, tried through the
installed command and its hooks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from installed import Installation, distribution
from kit import Machine, injected

from gate.own_checks import load_source
from gate.registry import BUILT_IN, Registry, load_registry
from gate.soundness import RefusedError

SOURCE = """
import json, os, signal, subprocess, sys
from dataclasses import dataclass
from gate.api import MACHINE, Check, Finding, Options, Subject, hookimpl, option, say

INCIDENT = "# Twelve lamps were left on\\nOn a Monday; they go when they are switched off."
{before}

def find(context):
    {run}

@hookimpl
def gate_check():
    return Check(name="{name}", label="{label}", incident=INCIDENT, summary="lamps are on", run=find{more})
"""
FOUND = 'yield Finding("lamps", say("12 lamps"), [Subject("lamp")])'


def source(name: str, run: str = FOUND, before: str = "", more: str = "") -> str:
    """A plugin's module; each has a name and a label of its own."""
    return SOURCE.format(name=name, label=name.upper()[:12], run=run, before=before, more=more)


@pytest.fixture
def installation(machine: Machine, project: Path) -> Installation:
    return Installation(machine, project)


@pytest.fixture
def own(machine: Machine) -> Path:
    directory = machine.config.parent / "checks"
    directory.mkdir(mode=0o700)
    return directory


def names(registry: Registry) -> list[str]:
    return [registered.check.name for registered in registry.checks]


# ---- packages


BACKEND = '''
"""The smallest backend that pip can build a wheel with: no other has to be installed for it."""
import zipfile

def build_wheel(directory, settings=None, metadata=None):
    name, info = "session_gate_lamps-1.2.3-py3-none-any.whl", "session_gate_lamps-1.2.3.dist-info"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as wheel:
        wheel.writestr("lamps/__init__.py", "")
        wheel.write("lamps_left.py", "lamps/left.py")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: session-gate-lamps\\nVersion: 1.2.3\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[session_gate]\\nlamps_left = lamps.left\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
'''


def test_a_package_that_was_built_and_installed_is_asked_in_every_phase(installation: Installation) -> None:
    directory = installation.machine.directory / "lamps"
    directory.mkdir()
    (directory / "lamps_left.py").write_text(source("lamps_left", more=", scope=MACHINE"))
    (directory / "backend.py").write_text(BACKEND)
    (directory / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    installation.install(directory)
    rows = {row["check"]: row for row in installation.json("list")["checks"]}
    assert list(rows) == [*BUILT_IN, "lamps_left"]
    assert rows["lamps_left"]["source"] == "package session-gate-lamps 1.2.3"
    assert "Twelve lamps were left on" in installation.text("explain", "LAMPS_LEFT")
    assert "12 lamps" in installation.text("run", "lamps_left", code=1)
    # The hooks' own processes are isolated from the environment and start without site-packages.
    assert "LAMPS_LEFT: 12 lamps" in injected(installation.hook("start"))
    installation.hook("end")
    installation.machine.settle()
    results = {result["check"]: result["outcome"] for result in installation.machine.marker()["results"]}
    assert results["lamps_left"] == "debt"


def test_every_broken_package_is_a_finding_with_its_name_and_the_others_go_on(installation: Installation) -> None:
    site = installation.site
    distribution(site, "good-lamps", "1.0", "good_lamps = good_lamps\n", good_lamps=source("good_lamps"))
    distribution(site, "no-module", "1.1", "no_module = nowhere.at_all\n")
    distribution(site, "names-function", "1.2", "f = funny:gate_check\n", funny=source("funny"))
    distribution(site, "names-nothing", "1.3", "n = funny:nothing\n")
    distribution(site, "no-name", "1.4", "bad = not a module!\n")
    distribution(site, "two-names", "1.5", "t1 = twice\nt2 = twice\n", twice=source("twice"))
    distribution(site, "same-name", "1.6", "z_same = same\n", same=source("good_lamps"))
    listed = installation.json("list")
    assert [row["check"] for row in listed["checks"]] == [*BUILT_IN, "good_lamps", "twice"]
    problems = {problem["source"]: problem["text"] for problem in listed["problems"]}
    assert {source: text.partition(":")[0] for source, text in problems.items()} == {
        "package no-module 1.1": "ModuleNotFoundError",
        "package names-function 1.2": "names something in a module",
        "package names-nothing 1.3": "AttributeError",
        "package no-name 1.4": "AttributeError",
        "package two-names 1.5": "names the same module as another entry point",
        "package same-name 1.6": "has the name 'good_lamps' as one from package good-lamps 1.0",
    }
    report = installation.json("run", code=1)
    unusable = [finding for finding in report["findings"] if finding["label"] == "PLUGIN"]
    assert len(unusable) == len(problems)
    assert all(finding["kind"] == "unknown" for finding in unusable)
    assert any("upgrade or uninstall the package no-module 1.1" in finding["remedy"] for finding in unusable)
    outcomes = {result["check"]: result["outcome"] for result in report["results"]}
    assert outcomes == dict.fromkeys(BUILT_IN, "clean") | {"good_lamps": "debt", "twice": "debt"}


def test_one_package_with_unreadable_metadata_does_not_hide_the_others(installation: Installation) -> None:
    site = installation.site
    distribution(site, "good-lamps", "1.0", "good_lamps = good_lamps\n", good_lamps=source("good_lamps"))
    distribution(site, "torn", "0.1", b"\xff\xfe\n")
    listed = installation.json("list")
    assert listed["checks"][-1]["source"] == "package good-lamps 1.0"
    (problem,) = listed["problems"]
    assert problem["source"] == f"package {site / 'torn-0.1.dist-info'}"
    assert "install it anew" in problem["text"]


# ---- the user's own directory

BROKEN = {
    "import_error": ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
    "syntax_error": ("def find(:", "SyntaxError: "),
    "null_bytes": ("x = '\0'", "null bytes"),
    "not_utf8": ("x = '\udcff'", "SyntaxError: (unicode error) 'utf-8' codec can't decode byte 0xff"),
    "no_hook": ("", "defines no gate_check: decorate a function of that name with gate.api.hookimpl"),
    "misspelt": (
        source("misspelt").replace("def gate_check", "def gate_chek"),
        "defines no gate_check, but gate_chek: did you mean gate_check?",
    ),
    "misspelt_and_bare": (
        source("misspelt_and_bare").replace("@hookimpl\ndef gate_check", "def gate_chek"),
        "defines no gate_check, but gate_chek: did you mean gate_check?",
    ),
    "unmarked": (source("unmarked").replace("@hookimpl", ""), "its gate_check is not marked as a hook: put @hookimpl"),
    "arguments": (
        source("arguments").replace("gate_check()", "gate_check(config)"),
        "gate_check takes no arguments and is a plain function: def gate_check() -> Check",
    ),
    "returns_nothing": (
        source("x").replace("return Check", "Check"),
        "gate_check returned NoneType: return a",
    ),
    "raises_at_import": ("\n\nraise ValueError('no\\nlamps')", "ValueError: no lamps (line 3)"),
    "raises_in_hook": (source("x").replace("return Check", "1 / 0; Check"), "ZeroDivisionError: division by zero"),
    "error_without_words": (
        "class E(Exception):\n    def __str__(self): raise self\nraise E",
        "E: (an error without words) (line 3)",
    ),
    "exits_at_import": ("raise SystemExit(0)", "SystemExit: 0"),
    "exits_in_hook": (source("x").replace("return Check", "sys.exit(3); Check"), "SystemExit: 3"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "no_incident": (source("x", before='INCIDENT = ""'), "names no incident: put into `incident` what happened"),
    "wrong_incident": (source("x", before="INCIDENT = 7"), "names no incident: put into `incident` what happened"),
    "built_in_name": (source("temp_size"), "has the name 'temp_size' as one from built in: give it another name"),
    "built_in_label": (
        source("x").replace('label="X"', 'label="TMP"'),
        "has the label 'TMP' as one from built in: give it another label",
    ),
    "own_name": (source("plugins"), "is named 'plugins', as the gate's findings about itself: give it another name"),
    "own_label": (source("x").replace('label="X"', 'label="PLUGIN"'), "give it another label"),
    "odd_label": (source("x").replace('label="X"', 'label="X\\nY"'), "a label is a short word in capitals"),
    "no_summary": (source("x").replace("lamps are on", " "), "has no summary: write a line that says when it is debt"),
    "no_limit": (source("x", more=", limit='5'"), "has the limit '5': it is a number of seconds, more than 0"),
    "no_time": (source("x", more=", limit=float('nan')"), "has the limit nan: it is a number of seconds, more than 0"),
    "no_run": (source("x").replace("run=find", "run=None"), "has a `run` that cannot be called"),
    "no_scope": (source("x", more=", scope='all'"), "has the scope 'all': it is 'project' or 'machine'"),
    "options_instance": (source("x", more=", options=Options()"), "which extends gate.api.Options"),
    "options_undecorated": (
        source("x", "class Lamps(Options):\n    most: int = option(2, 'lamps')", more=", options=Lamps").replace(
            "    class", "    yield\nclass"
        ),
        "has options that are no dataclass: put @dataclass(frozen=True) above Lamps",
    ),
    "options_kind": (
        source("x", before="@dataclass(frozen=True)\nclass L(Options):\n    most: dict = option(None, '')").replace(
            "run=find", "run=find, options=L"
        ),
        "has the option 'most' of the type dict, which configuration cannot give: make it bool, int, float, str, ",
    ),
    "options_default": (
        source("x", before="@dataclass(frozen=True)\nclass L(Options):\n    most: int = option('2', '')").replace(
            "run=find", "run=find, options=L"
        ),
        "has the option 'most' with the default '2', which is not of its type",
    ),
    "options_required": (
        source("x", before="@dataclass(frozen=True, kw_only=True)\nclass L(Options):\n    most: int").replace(
            "run=find", "run=find, options=L"
        ),
        "has options without working defaults (TypeError: ",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_its_cure_and_takes_nothing_along(own: Path, name: str) -> None:
    text, cure = BROKEN[name]
    (own / f"{name}.py").write_bytes(os.fsencode(text))
    (own / "zz_good.py").write_text(source("zz_good"))
    registry = load_registry(str(own))
    (problem,) = registry.problems
    assert problem.source == str(own / f"{name}.py")
    assert cure in problem.text
    assert names(registry) == [*BUILT_IN, "zz_good"]


def test_all_of_them_at_once_reach_the_user_and_the_client_and_every_other_check_runs(
    machine: Machine, project: Path, own: Path
) -> None:
    for name, (text, _) in BROKEN.items():
        (own / f"{name}.py").write_bytes(os.fsencode(text))
    (own / "zz_good.py").write_text(source("zz_good"))
    report = machine.json("run", cwd=project, code=1)
    broken = [finding for finding in report["findings"] if finding["label"] == "PLUGIN"]
    assert {finding["kind"] for finding in broken} == {"unknown"}
    assert len(broken) == len(BROKEN)
    for name in BROKEN:
        assert any(f"mend {own}/{name}.py, or move it out" in finding["remedy"] for finding in broken)
    assert {result["check"]: result["outcome"] for result in report["results"]} == dict.fromkeys(BUILT_IN, "clean") | {
        "zz_good": "debt"
    }
    payload = json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"}).encode()
    done = machine.gate("hook", "start", "--client", "claude", cwd=project, payload=payload)
    assert done.returncode == 0
    assert "PLUGIN: could not check: " in injected(done.stdout.decode())


def test_what_a_check_of_ones_own_can_rely_on(machine: Machine, project: Path, own: Path) -> None:
    """Annotations that are texts, options in a dataclass, and a name that is a standard module's."""
    (own / "json.py").write_text(
        "from __future__ import annotations\n"
        + source(
            "json",
            run='yield Finding("lamps", say("{} lamps, {}", context.options.most, json.dumps([1])), [Subject("lamp")])',
            before="from gate.api import Duration\n@dataclass(frozen=True)\nclass L(Options):\n"
            "    most: int = option(2, 'lamps')\n    age: Duration = option(Duration(60), 'their age')\n",
            more=", options=L",
        )
    )
    machine.config.write_text('[checks.json]\nmost = 7\nage = "2h"\n')
    assert "JSON: 7 lamps, " in machine.text("run", "json", cwd=project, code=1)
    assert 'age = "2h"' in machine.text("explain", "json", cwd=project)
    assert load_registry(str(own)).get("json") is not None
    assert sys.modules["json"] is json
    assert str(own) not in sys.path


def test_loading_leaves_the_directory_as_it_is(machine: Machine, project: Path, own: Path) -> None:
    """A cache of Python's in it would be a change of what decides, and the next start no silent one."""
    (own / "lamps.py").write_text(source("lamps", run="return []"))
    before = own.stat().st_mtime_ns
    machine.text("end", cwd=project)
    assert os.listdir(own) == ["lamps.py"]
    assert own.stat().st_mtime_ns == before
    assert machine.verdict(project) == "green"


# ---- who else could write it


def test_a_file_that_others_can_write_is_not_loaded(own: Path) -> None:
    (own / "lamps.py").write_text(source("lamps"))
    (own / "lamps.py").chmod(0o664)
    registry = load_registry(str(own))
    assert registry.problems[0].text == (
        f"others can write there; take that right away with chmod go-w {own / 'lamps.py'}"
    )
    assert names(registry) == list(BUILT_IN)


def test_a_link_is_as_safe_as_the_place_it_leads_to(own: Path, tmp_path: Path) -> None:
    """People keep their configuration elsewhere and link to it."""
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir(mode=0o700)
    (dotfiles / "lamps.py").write_text(source("lamps"))
    (own / "lamps.py").symlink_to(dotfiles / "lamps.py")
    assert load_registry(str(own)).get("lamps") is not None
    dotfiles.chmod(0o777)
    (problem,) = load_registry(str(own)).problems
    assert problem.text.startswith(f"is a link to {dotfiles / 'lamps.py'}: others can write there; ")
    assert problem.text.endswith(f"chmod go-w {dotfiles}")
    dotfiles.chmod(0o700)
    (dotfiles / "lamps.py").chmod(0o602)
    (problem,) = load_registry(str(own)).problems
    assert problem.text.endswith(f"chmod go-w {dotfiles / 'lamps.py'}")
    (dotfiles / "lamps.py").unlink()
    (problem,) = load_registry(str(own)).problems
    assert problem.text == "leads to nothing: mend the link or remove it"


def test_what_is_no_file_is_said_and_not_waited_for(own: Path) -> None:
    os.mkfifo(own / "fifo.py")
    (own / "directory.py").mkdir()
    (own / "loop.py").symlink_to("loop.py")
    with (own / "huge.py").open("wb") as file:
        file.truncate(2 << 20)
    problems = {os.path.basename(problem.source): problem.text for problem in load_registry(str(own)).problems}
    nothing = "is no file that could be a check (of 1 MiB at most)"
    assert problems == {
        "directory.py": nothing,
        "fifo.py": nothing,
        "huge.py": nothing,
        "loop.py": "leads to nothing: mend the link or remove it",
    }


def test_a_directory_that_cannot_be_used_is_said_and_a_missing_one_is_none(tmp_path: Path) -> None:
    place = tmp_path / "checks"
    assert load_registry(str(place)).problems == []
    place.symlink_to("nowhere")
    (problem,) = load_registry(str(place)).problems
    assert (problem.source, problem.text) == (str(place), "leads to nothing: mend the link or remove it")
    place.unlink()
    place.write_text("")
    (problem,) = load_registry(str(place)).problems
    assert problem.text == "is not a directory; move away what stands there"
    place.unlink()
    place.mkdir()
    place.chmod(0o775)
    (problem,) = load_registry(str(place)).problems
    assert problem.text == f"others can write there; take that right away with chmod go-w {place}"


# ---- what hangs, prints and floods

HANG = "__import__('os').read(__import__('os').open({!r}, 0), 1)"
"""Waits for a writer that never comes; the test that put it there comes in the end."""


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    yield str(path)
    with suppress(OSError):  # lets go of the threads of this process that wait
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


def test_one_that_hangs_leaves_the_others_their_time(own: Path, fifo: str) -> None:
    (own / "a_import.py").write_text(HANG.format(fifo))
    (own / "b_hook.py").write_text(source("b_hook").replace("return Check", f"{HANG.format(fifo)}; Check"))
    for number in range(10):
        (own / f"good{number}.py").write_text(source(f"good{number}"))
    registry = load_registry(str(own), patience=4.0)
    assert {os.path.basename(problem.source): problem.text.partition(";")[0] for problem in registry.problems} == {
        "a_import.py": "hangs: its import gave no answer in time",
        "b_hook.py": "hangs: gate_check gave no answer in time",
    }
    assert len(names(registry)) == len(BUILT_IN) + 10


def test_a_start_does_not_wait_for_a_plugin_that_hangs(machine: Machine, project: Path, own: Path, fifo: str) -> None:
    """It would for ever."""
    (own / "hangs.py").write_text(HANG.format(fifo))
    (own / "lamps.py").write_text(source("lamps"))
    payload = json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"}).encode()
    done = machine.gate("hook", "start", "--client", "claude", cwd=project, payload=payload)
    text = injected(done.stdout.decode())
    assert "LAMPS: 12 lamps" in text
    assert f"PLUGIN: could not check: {own}/hangs.py: hangs: its import gave no answer in time" in text


NOISE = (
    'print("out"); print("err", file=sys.stderr); os.write(1, b"raw"); sys.__stdout__.write("more")\n'
    '    subprocess.run(["echo", "child"])\n    '
)


@pytest.mark.parametrize("where", ["before", "run"])
def test_what_a_plugin_prints_reaches_no_client(machine: Machine, project: Path, own: Path, where: str) -> None:
    noise = {"before": NOISE.replace("    ", "")} if where == "before" else {"run": NOISE + FOUND}
    (own / "loud.py").write_text(source("loud", **noise))
    payload = json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"}).encode()
    done = machine.gate("hook", "start", "--client", "claude", cwd=project, payload=payload)
    assert "LOUD: 12 lamps" in injected(done.stdout.decode())
    for form in ("json", "sarif"):
        done = machine.gate("run", "--format", form, cwd=project)
        assert done.returncode == 1
        json.loads(done.stdout)
        assert b"raw" in done.stderr


def test_one_that_closes_the_streams_does_not_make_the_hook_fail(machine: Machine, project: Path, own: Path) -> None:
    """Clients drop what a hook printed that exits with an error."""
    (own / "lamps.py").write_text(source("lamps", run="sys.stdout.close(); sys.stderr.close(); " + FOUND))
    payload = json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"}).encode()
    done = machine.gate("hook", "start", "--client", "claude", cwd=project, payload=payload)
    assert done.returncode == 0
    assert "LAMPS: 12 lamps" in injected(done.stdout.decode())
    assert "12 lamps" in machine.text("run", "lamps", cwd=project, code=1)


@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), signal.SIGSEGV)"])
def test_one_that_ends_the_whole_process_is_said_by_the_line_that_was_installed(
    machine: Machine, project: Path, own: Path, end: str
) -> None:
    """Nothing in the process could: it is gone. With os._exit(0) it would be believed."""
    machine.text("install", "claude", cwd=project)
    settings = json.loads((Path(machine.environ["HOME"]) / ".claude" / "settings.json").read_text())
    command = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    (own / "lamps.py").write_text(source("lamps", before=end))
    payload = json.dumps({"session_id": "s", "cwd": str(project), "hook_event_name": "SessionStart"}).encode()
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=project,
        env=machine.environ,
        input=payload,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert "SESSION-GATE: did not run: " in injected(done.stdout.decode())


HOSTILE: dict[str, tuple[str, str]] = {
    "raises": ("raise ValueError('no lamps')", 'the check failed: "ValueError: no lamps"'),
    "exits": ("raise SystemExit(0)", 'the check failed: "SystemExit: 0"'),
    "interrupts": ("raise KeyboardInterrupt", "the check failed: KeyboardInterrupt"),
    "unknown_without_a_word": (
        "from gate.api import UnknownError; raise UnknownError",
        "no reason was given",
    ),
    "returns_one": ('return Finding("x", say("x"))', "the check returned a Finding instead of yielding it"),
    "yields_text": ("yield 'lamps'", "the check yielded a str instead of a Finding"),
    "floods": (
        'yield from (Finding(str(n), say("lamp"), [Subject(str(n))]) for n in range(1_000_000))',
        "the check found more than 1,000 things; only those are kept",
    ),
    "floods_subjects": (
        'yield Finding("x", say("lamps"), [Subject(str(n), str(n), 1.0) for n in range(200_000)])',
        "the check found more than 20,000 things; only those are kept",
    ),
    "odd_kind": ('yield Finding("x", say("x"), kind="green")', "the check yielded a Finding of the kind 'green'"),
    "odd_subject": ('yield Finding("x", say("x"), ["lamp"])', "the check yielded a Finding about a str instead of"),
    "odd_time": (
        'yield Finding("x", say("x"), [Subject("x", changed="now")])',
        "the check yielded a Finding about a Subject with a field of the wrong type",
    ),
    "odd_words": ('yield Finding("x", "lamps")', "the check yielded a Finding whose summary is not made by say"),
    "too_few_values": (
        'yield Finding("x", say("{} {}", 1))',
        'the check yielded a Finding which cannot be put into words: "IndexError:',
    ),
    "summary_raises": (
        'yield Finding("x", lambda chosen: 1 / 0, [Subject("x")])',
        'the check yielded a Finding which cannot be put into words: "ZeroDivisionError:',
    ),
    "surrogate": (
        'yield Finding("\\ud800", say("x"))',
        'the check yielded a Finding which cannot be put into words: "UnicodeEncodeError:',
    ),
}


def test_whatever_a_check_does_is_unknown_and_every_other_one_runs(
    machine: Machine, project: Path, own: Path, fifo: str
) -> None:
    for name, (run, _) in HOSTILE.items():
        (own / f"{name}.py").write_text(source(name, run=run))
    (own / "zz_hangs.py").write_text(source("zz_hangs", run=HANG.format(fifo), more=", limit=1.5"))
    (own / "zz_good.py").write_text(source("zz_good"))
    report = machine.json("end", cwd=project, code=1)
    results: dict[str, Any] = {result["check"]: result for result in report["results"]}
    for name, (_, reason) in HOSTILE.items():
        assert reason in results[name]["reason"]
        told = [finding for finding in report["findings"] if finding["check"] == name and finding["kind"] == "unknown"]
        assert len(told) == 1
        assert told[0]["remedy"]
    assert results["zz_hangs"]["reason"] == "gave no answer in 1.5 s"
    assert {name: results[name]["outcome"] for name in BUILT_IN} == dict.fromkeys(BUILT_IN, "clean")
    assert results["zz_good"]["outcome"] == "debt"
    assert machine.verdict(project) == "debt", "a marker that is too long would be damaged"
    assert "ZZ_GOOD: 12 lamps" in machine.text("status", cwd=project)


def test_a_summary_that_fails_for_some_subjects_still_says_how_many(machine: Machine, project: Path, own: Path) -> None:
    """It is called again for those that a session answers for, after the check has run."""
    run = (
        'yield Finding("x", lambda c: say("{} and {}", c.names[0], c.names[1]), '
        '[Subject("a", "a", tag="s"), Subject("b", "b", tag="other")])'
    )
    (own / "lamps.py").write_text(source("lamps", run=run))
    for session in ("s", "other"):
        payload = json.dumps({"session_id": session, "cwd": str(project), "hook_event_name": "SessionStart"}).encode()
        done = machine.gate("hook", "start", "--client", "claude", cwd=project, payload=payload)
        assert done.returncode == 0
    assert "could not check: IndexError in session-gate" not in done.stdout.decode()
    assert "LAMPS: " in injected(done.stdout.decode())


def test_where_it_raised_is_told_without_reading_it_again(tmp_path: Path) -> None:
    """What stands there by then may be anything: a FIFO would hold the start up."""
    path = tmp_path / "check.py"
    os.mkfifo(path)
    with pytest.raises(RefusedError, match=r"^ValueError: no lamps \(line 3\)$"):
        load_source(str(path), b"\n\nraise ValueError('no lamps')\n", "gate_test_checks.")
