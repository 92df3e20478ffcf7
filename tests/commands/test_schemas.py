"""Every JSON that a command prints keeps to its published schema, whatever the state and the names around it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from kit import NO_PROCESSES, Machine
from referencing import Registry, Resource

import gate
from gate.commands.cli import COMMANDS
from gate.registry import BUILT_IN

SCHEMAS = {path.name: json.loads(path.read_text()) for path in (Path(next(iter(gate.__path__))) / "schemas").iterdir()}
BASE = "https://session-gate.invalid/schemas/"
RESOURCES: Any = Registry().with_resources(
    [(BASE + name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items()]
)
ODD = b"odd\xff\n<b>".decode("utf-8", "surrogateescape")


def validate(value: Any, name: str) -> None:
    """Hold a value against a published schema; schemas refer to each other by file name."""
    jsonschema.Draft202012Validator(SCHEMAS[f"{name}.schema.json"], registry=RESOURCES).validate(value)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_is_called_like_its_file(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$id"] == BASE + name
    with pytest.raises(jsonschema.ValidationError):
        validate({"schema": 2}, name.partition(".")[0])


def test_run_and_end_and_the_marker(machine: Machine, project: Path) -> None:
    (project / ODD).write_text("")
    for command in ("run", "end"):
        value = machine.json(command, cwd=project, code=1)
        validate(value, "report")
        assert (value["schema"], value["state"]) == (1, "debt")
        assert set(value) == {"schema", "state", "results", "findings"}
    validate(machine.marker(), "marker")
    validate(machine.json("run", "stale_locks", cwd=project), "report")


def test_status_and_status_of_all(machine: Machine, project: Path) -> None:
    validate(machine.json("status", cwd=project), "status")
    assert machine.json("status", "--all", cwd=project) == {"schema": 1, "projects": []}
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    status = machine.json("status", cwd=project)
    validate(status, "status")
    assert (status["verdict"], status["project"]["root"]) == ("debt", str(project))
    everywhere = machine.json("status", "--all", cwd=project)
    validate(everywhere, "status-all")
    assert everywhere["projects"] == [status]


def test_start(machine: Machine, project: Path) -> None:
    value = machine.json("start", cwd=project)
    validate(value, "start")
    assert (value["verdict"], value["text"]) == ("first", "")
    (project / "left.py").write_text("")
    machine.text("end", cwd=project, code=1)
    value = machine.json("start", cwd=project)
    validate(value, "start")
    assert "left.py" in value["text"]


def test_list_config_and_explain_as_they_come(machine: Machine, project: Path) -> None:
    validate(machine.json("list", cwd=project), "list")
    config = machine.json("config", cwd=project)
    validate(config, "config")
    for check in BUILT_IN:
        value = machine.json("explain", check, cwd=project)
        validate(value, "explain")
        keys = [setting["key"] for setting in config["values"]]
        assert [f"checks.{check}.{option['name']}" in keys for option in value["options"]] == [True] * len(
            value["options"]
        )


def test_waive_install_and_doctor(machine: Machine, project: Path) -> None:
    validate(machine.json("waive", "--list", cwd=project), "waive")
    (project / ".gate" / "checks").mkdir(parents=True)
    (project / ".gate" / "checks" / "one.py").write_text("")
    validate(machine.json("trust", "--list", cwd=project), "trust")
    machine.text("waive", "temp_size", "*.raw", "--until", "2099-12-31", "--reason", "a course", cwd=project)
    waived = machine.json("waive", "--list", cwd=project)
    validate(waived, "waive")
    assert len(waived["waivers"]) == 1
    validate(machine.json("doctor", cwd=project, code=1), "doctor")
    for words in (["install", "--dry-run"], ["install"], ["uninstall", "--dry-run"], ["uninstall"]):
        value = machine.json(*words, "claude", cwd=project)
        validate(value, "install")
        assert ("diff" in value) == value["dry_run"] == ("--dry-run" in words)


def test_every_command_with_json_has_a_schema() -> None:
    shared = {"run": "report", "end": "report", "uninstall": "install"}
    without = {"hook"}  # its form is the client's
    assert {shared.get(name, name) for name in set(COMMANDS) - without} <= {name.partition(".")[0] for name in SCHEMAS}


def test_values_are_real_ones_in_base_units(machine: Machine, project: Path) -> None:
    (project / ".gate.toml").write_text('[checks.temp_size]\nmax_bytes = "1KiB"\nmax_files = 3\nignore = ["a", "b"]\n')
    origin = str(project / ".gate.toml")
    settings = {setting["key"]: setting for setting in machine.json("config", cwd=project)["values"]}
    assert settings["checks.temp_size.max_bytes"] == {
        "key": "checks.temp_size.max_bytes", "value": 1024, "unit": "bytes", "origin": origin,
    }  # fmt: skip
    assert (settings["checks.temp_size.max_files"]["value"], settings["checks.temp_size.max_files"]["unit"]) == (
        3,
        None,
    )
    assert settings["checks.temp_size.ignore"]["value"] == ["a", "b"]
    assert (settings["stale_after"]["value"], settings["stale_after"]["unit"]) == (7 * 86400, "seconds")
    options = {option["name"]: option for option in machine.json("explain", "temp_size", cwd=project)["options"]}
    assert (options["max_bytes"]["value"], options["max_bytes"]["unit"]) == (1024, "bytes")
    rows = {row["check"]: row for row in machine.json("list", cwd=project)["checks"]}
    assert rows["temp_size"]["options"]["max_bytes"] == 1024
    assert rows["old_worktrees"]["options"]["max_idle"] == 5 * 86400


def test_problems_and_broken_checks_keep_to_them_too(machine: Machine, project: Path) -> None:
    (project / ".gate.toml").write_text("disable = ['temp_size']\n[checks.stale_locks]\nmax_age = 'old'\n")
    checks = machine.directory / "config" / "checks"
    checks.mkdir(mode=0o700)
    (checks / "bad.py").write_text("")
    listed = machine.json("list", cwd=project)
    validate(listed, "list")
    assert {row["state"] for row in listed["checks"]} == {"on", "off", "broken"}
    assert len(listed["problems"]) == 1
    config = machine.json("config", cwd=project, code=2)
    validate(config, "config")
    assert len(config["problems"]) == 1
    report = machine.json("run", cwd=project, code=2)
    validate(report, "report")
    assert {finding["label"] for finding in report["findings"]} >= {"CONFIG", "PLUGIN"}


def test_names_that_are_not_utf_8(machine: Machine) -> None:
    place = Path(os.fsdecode(os.fsencode(machine.directory) + b"/caf\xe9"))
    place.mkdir()
    config = place / "config.toml"
    config.write_text(f"inject_limit = 300\ndisable = ['temp_size']\n{NO_PROCESSES}")
    project = machine.repository(place.name + "/project")
    environ = {"SESSION_GATE_CONFIG": str(config)}
    for name, words in (
        ("list", ["list"]), ("config", ["config"]), ("explain", ["explain", "temp_size"]), ("report", ["end"]),
        ("status", ["status"]), ("status-all", ["status", "--all"]), ("start", ["start"]),
    ):  # fmt: skip
        validate(machine.json(*words, cwd=project, **environ), name)
    origins = {setting["origin"] for setting in machine.json("config", cwd=project, **environ)["values"]}
    assert origins == {"default", f"{machine.directory}/caf\\xe9/config.toml"}
