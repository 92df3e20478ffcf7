"""The README tells the truth: its table is the registry's, its examples work, its settings are what a client takes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from kit import Machine

from gate.wiring.client_settings import PROJECT, USER
from gate.wiring.clients import CLIENTS, Client

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_table_of_checks_is_the_registrys(machine: Machine, project: Path) -> None:
    table = machine.text("list", "--format", "markdown", cwd=project)
    match = re.search(r"<!-- checks: .*? -->\n(.*?)<!-- /checks -->", README, re.DOTALL)
    assert match is not None
    assert match[1] == table


def test_the_example_of_a_check_passes_its_own_test_and_is_loaded(machine: Machine, project: Path) -> None:
    checks = machine.directory / "config" / "checks"
    checks.mkdir(mode=0o700)
    check, test = blocks("python")
    (checks / "keep_awake.py").write_text(check)
    (checks / "test_keep_awake.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(checks)]
    done = subprocess.run(command, cwd=checks, env=machine.environ, capture_output=True, check=False, timeout=120)
    assert b"2 passed" in done.stdout, done.stdout
    assert "AWAKE" in machine.text("run", "keep_awake", cwd=project)
    assert "caffeinate" in machine.text("explain", "keep_awake", cwd=project)


def test_the_example_of_a_configuration_is_in_force(machine: Machine, project: Path) -> None:
    (example,) = blocks("toml")
    (project / ".gate.toml").write_text(example)
    text = machine.text("config", cwd=project)
    assert 'disable = ["capture_streams"]' in text
    assert 'checks.temp_size.ignore = ["*.keep"]' in text


def test_what_an_installation_says(machine: Machine, project: Path) -> None:
    settings = machine.directory / "home" / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    said = machine.text("install", "claude", cwd=project).splitlines()
    (example,) = [block for block in blocks("console") if block.startswith("$ gate install")]
    shown = example.splitlines()[1:]
    assert [line.partition(": ")[0 if number == 1 else 2] for number, line in enumerate(said)] == [
        line.partition(": ")[0 if number == 1 else 2] for number, line in enumerate(shown)
    ]


def test_the_table_of_clients_is_what_their_modules_say() -> None:
    rows = ["| client | `gate install …` | seen with | the user's file | a project's file |", "|---|---|---|---|---|"]
    rows += [
        f"| {client.TITLE} | `{client.NAME}` | {client.TRIED or '–'} | {users_file(client)} |"
        f" `{client.settings_path(PROJECT, {}, '')}` |"
        for client in CLIENTS.values()
    ]
    match = re.search(r"<!-- clients: .*? -->\n(.*?)<!-- /clients -->", README, re.DOTALL)
    assert match is not None
    assert match[1].splitlines() == rows


def users_file(client: Client) -> str:
    path = f"`{client.settings_path(USER, {'HOME': '~'}, '')}`"
    variable = client.DIRECTORY_VARIABLE
    if not variable:
        return path
    return f"`{client.settings_path(USER, {variable: '$' + variable}, '')}`, else {path}"


def test_what_was_seen_is_told_of_each_client_that_was_tried_in_its_versions() -> None:
    titles = {client.TITLE: client.TRIED for client in CLIENTS.values()}
    section = README.partition("## Seen with real clients\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert {title: versions for title, versions, *_ in rows} == {
        title: tried for title, tried in titles.items() if tried
    }


def test_every_command_of_the_readme_exists(machine: Machine, project: Path) -> None:
    for command in set(re.findall(r"^\| `gate (\w+)", README, re.MULTILINE)):
        machine.text(command, "--help", cwd=project)
