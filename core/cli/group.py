"""The group of commands: built in or from plugins; whatever a user can cause ends in one line and an exit code."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from suricate import plugins
from suricate.base.errors import CheckFailed, PluginError, SuricateError
from suricate.base.visible import visible

FAILED, MISUSED = 1, 2  #: exit codes besides 0


class Failed(click.ClickException):
    """The run failed: click prints the message in one line to stderr, and the exit code is 1."""

    exit_code = FAILED


class Misused(click.ClickException):
    """Bad usage or bad input: click prints the message in one line to stderr, and the exit code is 2."""

    exit_code = MISUSED


class Commands(click.Group):
    """The built-in commands and those of plugins; a built-in command hides a plugin's command of the same name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, built-in and of plugins, sorted."""
        return sorted({*self.commands, *plugins.commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command ``cmd_name``, or None; plugins are only loaded for one that is not built in."""
        return self.commands.get(cmd_name) or plugins.commands().get(cmd_name)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the options that precede the name of the command, as click does; an error ends in one line."""
        with errors_in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse the arguments of the command, run it, and return what it returns; an error ends in one line."""
        with errors_in_one_line():
            return super().invoke(ctx)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn errors of usage, of suricate and of the system into one line on stderr and an exit code.

    Any other exception is a bug of suricate; it is not caught, and shows its traceback.
    """
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        command = "suricate" if error.ctx is None else error.ctx.command_path
        raise Misused(f"{_one_line(error.format_message())} (see '{command} --help')") from error
    except (SuricateError, OSError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            raise  # click ends quietly when nobody reads the output any more
        failed = isinstance(error, (PluginError, CheckFailed, MemoryError))
        line = _one_line(str(error)) or type(error).__name__
        raise (Failed if failed else Misused)(line) from error


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
