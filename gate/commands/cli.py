"""The command line: the group of all subcommands, and what becomes of their errors."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence

import click

from gate import __version__, files
from gate import directories as user_directories
from gate.commands.usage import Commands, one_line
from gate.errors import GateError, StateError
from gate.quote import line

OK, USAGE, CRASH, INTERRUPTED = 0, 2, 3, 130

COMMANDS = (
    "start", "end", "run", "hook", "status", "list", "explain", "config", "new", "waive", "trust", "install",
    "uninstall", "doctor",
)  # fmt: skip
"""All subcommands, each of the module of its name; `uninstall` is with `install`."""


@click.group(
    cls=Commands,
    names=COMMANDS,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: gate run",
)
@click.version_option(__version__, prog_name="session-gate")
@click.option("-C", "directories", metavar="DIR", multiple=True, help="Act as if started in DIR.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), help="The form of the answer (text).")
@click.option("--no-color", is_flag=True, help="No colour; NO_COLOR does the same.")
@click.pass_context
def group(context: click.Context, directories: tuple[str, ...], form: str | None, no_color: bool) -> None:
    """The session boundary answers for what a coding agent leaves behind."""
    directory = os.path.abspath(os.path.join(*directories)) if directories else None
    context.obj = {"directory": directory, "form": form, "no_color": no_color}
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(USAGE)


def main(arguments: Sequence[str]) -> int:
    """Run one command; its exit code: 0, 1 debt, 2 usage or configuration, 3 our own error, 130 interrupted."""
    try:
        return int(group.main(list(arguments), prog_name="gate", standalone_mode=False) or OK)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.ClickException, GateError) as error:
        click.echo(f"session-gate: error: {_text(error)}", err=True)
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        click.echo("session-gate: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        return OK
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            return _crash(error)
        click.echo(f"session-gate: error: the results could not be written: {error.strerror}", err=True)
        return USAGE
    except Exception as error:  # noqa: BLE001 - the last resort
        return _crash(error)


def _text(error: click.ClickException | GateError) -> str:
    if isinstance(error, click.UsageError):
        return one_line(error)
    return line(error.format_message() if isinstance(error, click.ClickException) else str(error))


def _crash(error: Exception) -> int:
    """One line for the user, the rest into a file."""
    click.echo(f"session-gate: internal error: {type(error).__name__}; {_log(error)}", err=True)
    return CRASH


def _log(error: Exception) -> str:
    """Keep the traceback for a report, without the values in it; where it is, in words."""
    frames = "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)))
    text = f"session-gate {__version__}, Python {sys.version}\n{frames}{type(error).__name__}\n"
    try:
        root = user_directories.state_dir(os.environ)
        files.make_private_dir(root)
        path = os.path.join(root, "crash.log")
        files.write(path, text.encode("utf-8", "backslashreplace"))
    except StateError:
        return "no log could be written"
    return f"please report it with {path}"
