"""`gate doctor` tells what is wrong with the wiring, with its cure, and executes nothing of other people's."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit import GATE, Client, Machine

OpenClient = Callable[..., Client]


@pytest.fixture
def settings(machine: Machine, project: Path) -> Path:
    """The user's settings, with the gate installed."""
    machine.text("install", "claude", cwd=project)
    return machine.directory / "home" / ".claude" / "settings.json"


def answers(machine: Machine, project: Path, code: int, **environ: str) -> list[tuple[str, str, str]]:
    value = machine.json("doctor", cwd=project, code=code, **environ)
    assert value["schema"] == 1
    assert value["reliable"] is (code == 0)
    assert all(answer["cure"] for answer in value["answers"] if answer["level"] != "good")
    return [(a["about"], a["level"], a["text"] + " " + a["cure"]) for a in value["answers"] if a["level"] != "good"]


def change(settings: Path, alter: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(settings.read_text())
    alter(value)
    settings.write_text(json.dumps(value))


def test_what_is_not_installed_is_not_relied_on(machine: Machine, project: Path) -> None:
    (only,) = answers(machine, project, 1)
    assert only[:2] == ("clients", "problem")
    (machine.directory / "home" / ".claude").mkdir()
    for (about, level, text), event in zip(answers(machine, project, 1), ("SessionStart", "SessionEnd"), strict=True):
        assert (about, level, text) == ("claude", "problem", f"no {event} hook calls the gate gate install claude")


def test_what_fires_is_relied_on(machine: Machine, project: Path, settings: Path, open_client: OpenClient) -> None:
    ((about, level, text),) = answers(machine, project, 0)
    assert (about, level) == ("fired", "warning")
    assert "has not yet called the start hook" in text
    client = open_client(project)
    client.start()
    client.end()
    assert answers(machine, project, 0) == []
    text = machine.text("doctor", cwd=project)
    assert text.endswith("\n\nThe gate can be relied on here.\n")
    assert "never" not in text


def test_an_end_that_was_missed_or_cut_off_is_named(
    machine: Machine, project: Path, settings: Path, open_client: OpenClient
) -> None:
    client = open_client(project, "killed")
    client.start()
    machine.settle()
    client.kill()
    client = open_client(project, "cut-off")
    client.start()
    machine.settle()
    ((_, _, text),) = answers(machine, project, 0)
    assert "a session ended without calling the end hook" in text
    client.hook("end")
    machine.kill_detached("finish", "cut-off")
    machine.settle()
    client.exit()
    client = open_client(project, "last")
    client.start()
    ((_, _, text),) = answers(machine, project, 0)
    assert "an end was cut off before it was complete" in text
    client.end()
    assert answers(machine, project, 0) == []


def unreadable(settings: Path) -> None:
    settings.write_text("{")


def disabled(settings: Path) -> None:
    change(settings, lambda value: value.update(disableAllHooks=True))


def without_end(settings: Path) -> None:
    change(settings, lambda value: value["hooks"].pop("SessionEnd"))


def for_a_matcher(settings: Path) -> None:
    change(settings, lambda value: value["hooks"]["SessionStart"][0].update(matcher="resume"))


def gone(settings: Path) -> None:
    text = settings.read_text()
    python = json.loads(text)["hooks"]["SessionEnd"][0]["hooks"][0]["command"].split(" p=")[1].split(" ")[0].rstrip(";")
    settings.write_text(text.replace(os.path.dirname(python) + "/", "/nowhere/"))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (unreadable, "settings.json: line 1"),
        (disabled, "switches all hooks off take disableAllHooks out of it"),
        (without_end, "no SessionEnd hook calls the gate"),
        (for_a_matcher, "called for the matcher resume alone"),
        (gone, "does not start the gate: SESSION-GATE: did not run: "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_keeps_the_hooks_from_firing_is_a_problem(
    machine: Machine, project: Path, settings: Path, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(settings)
    assert [text for _, level, text in answers(machine, project, 1) if level == "problem" and said in text]


def test_what_runs_twice_or_is_given_little_time_is_a_warning(machine: Machine, project: Path, settings: Path) -> None:
    machine.text("install", "claude", "--scope", "project", cwd=project)
    assert any("install session-gate where PATH finds it" in text for _, _, text in answers(machine, project, 1))
    machine.environ["PATH"] = f"{GATE.parent}{os.pathsep}{machine.environ['PATH']}"
    change(settings, lambda value: value["hooks"]["SessionStart"][0]["hooks"][0].update(timeout=1))
    found = answers(machine, project, 0)
    assert {level for _, level, _ in found} == {"warning"}
    texts = "\n".join(text for _, _, text in found)
    assert "the start hook is installed 2 times" in texts
    assert "the SessionStart hook is given 1 s only" in texts
    assert "is not yet trusted" in texts


def test_a_trusted_directory_is_not_complained_of(machine: Machine, project: Path) -> None:
    machine.text("install", "claude", "--scope", "local", cwd=project)
    assert any("not yet trusted" in text for _, _, text in answers(machine, project, 0))
    trusted = {"projects": {str(project): {"hasTrustDialogAccepted": True}}}
    (machine.directory / "home" / ".claude.json").write_text(json.dumps(trusted))
    assert not any("not yet trusted" in text for _, _, text in answers(machine, project, 0))


def test_a_repositorys_own_line_is_not_run(machine: Machine, project: Path, settings: Path) -> None:
    bait = machine.directory / "bait"
    command = f": session-gate hook start --client claude; touch {bait}"
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    assert any("was not tried" in text for _, _, text in answers(machine, project, 0))
    assert not bait.exists()


def test_the_plugin_counts_as_installed(machine: Machine, project: Path, settings: Path) -> None:
    settings.write_text(json.dumps({"enabledPlugins": {"session-gate@session-gate": True}}))
    ((about, _, _),) = answers(machine, project, 0)
    assert about == "fired"
    machine.text("install", "claude", cwd=project)
    assert any(
        "the plugin session-gate@session-gate calls the gate too" in t for _, _, t in answers(machine, project, 0)
    )


def test_what_the_machine_lacks_is_a_problem(machine: Machine, project: Path, settings: Path) -> None:
    def problems(**environ: str) -> str:
        return "\n".join(text for _, level, text in answers(machine, project, 1, **environ) if level == "problem")

    assert "git was not found in PATH" in problems(PATH=str(machine.directory))
    assert "SESSION_GATE_DISABLE is set" in problems(SESSION_GATE_DISABLE="1")
    (project / ".gate.toml").write_text("stale_aftre = 1\n")
    assert "did you mean 'stale_after'" in problems()
    (project / ".gate.toml").unlink()
    machine.state.chmod(0o777)
    assert "others can write there" in problems()


def test_it_writes_nothing(machine: Machine, project: Path, settings: Path) -> None:
    def everything() -> list[tuple[str, float]]:
        roots = (machine.state, machine.directory / "home", project)
        return sorted((str(path), path.stat().st_mtime) for root in roots for path in root.rglob("*"))

    before = everything()
    machine.text("doctor", cwd=project)
    assert everything() == before
