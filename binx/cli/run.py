"""Run a command line: errors become messages and exit codes."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import FrameType

import click
from click.exceptions import NoSuchCommand

from binx.cli.application import NAMES, PROGRAM, application, load_command
from binx.cli.command import HELP_NAMES
from binx.cli.defaults import unknown
from binx.cli.terminal import say_error
from binx.errors import BinxError, ChecksumError, DamagedError, ExitCode
from binx.kernels.memory import keep_freed_memory
from binx.source.wording import did_you_mean, listed

_COMPLETE = "_BINX_COMPLETE"
"""Set if a shell requests completions."""

_SIGNALS = 128
_OPEN_FILES = 65_536
_TRACEBACK = "BINX_TRACEBACK"
_CHANGED = "--no-checksums takes the bytes as they are"
_DAMAGE = "--on-damage salvage goes on after it and lists what could not be read"
_ALL_DAMAGE = "`binx verify` finds all damage"
_COMMANDS_SHOWN = 3


class _TerminatedError(BaseException):
    """The process was terminated by a signal; unfinished output is cleaned up as the error propagates."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def run(arguments: Sequence[str] | None = None) -> ExitCode:
    """Run a command line."""
    command_line = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _keep_standard_numbers()
        _prepare_streams()
        _clear_away_on_signals()
        _allow_many_files()
        _set_up_libraries()
        code = _answer(command_line)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except click.UsageError as error:
        say_error(usage_message(error))
        return ExitCode.USAGE
    except BinxError as error:
        return _failed(error, command_line)
    except KeyboardInterrupt as error:
        say_error(f"interrupted{_reached(error)}", label="")
        return ExitCode.INTERRUPTED
    except _TerminatedError as error:
        say_error(f"terminated{_reached(error)}", label="")
        return ExitCode(_SIGNALS + error.number)
    except BrokenPipeError:
        return ExitCode.DONE
    except MemoryError:
        say_error("out of memory; close other programs or process less at once")
        _show_traceback()
        return ExitCode.FAILED
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        say_error(f"{path}the system says: {error.strerror or error}{_place_of_temporary(error)}")
        _show_traceback()
        return ExitCode.FAILED
    except Exception as error:
        say_error(
            f"this is a bug in binx ({type(error).__name__}: {error}); please report it with the"
            f" traceback that {_TRACEBACK}=1 in the environment prints"
        )
        _show_traceback()
        return ExitCode.FAILED
    finally:
        _leave_standard_output()


def _answer(arguments: list[str]) -> ExitCode:
    if _COMPLETE in os.environ:
        application.main(arguments, PROGRAM)
    try:
        with application.make_context(PROGRAM, arguments) as context:
            return ExitCode(application.invoke(context) or ExitCode.DONE)
    except click.exceptions.Exit as ending:
        return ExitCode(ending.exit_code)


def usage_message(error: click.UsageError) -> str:
    """Return the error, and which help to read."""
    path = error.ctx.command_path if error.ctx is not None else PROGRAM
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        names = {name for param in error.ctx.command.get_params(error.ctx) for name in param.opts}
        name = error.option_name
        instead = _instead_of(name)
        near = f"; {instead}" if instead else did_you_mean(name, names.difference(HELP_NAMES))
        message = f"no such option {name!r}{near}"
    elif isinstance(error, NoSuchCommand):
        message = f"there is {unknown('command', error.command_name, NAMES)}"
    else:
        # For a missing argument click lists the choices one per line.
        message = " ".join(error.format_message().rstrip(".").split())
    return f"{message}\nTry: {path} --help"


def _instead_of(name: str) -> str | None:
    """Return what to use instead of an option that the command does not have; None if nothing has it."""
    from binx.cli.mysqlbinlog_options import INSTEAD

    if name in INSTEAD:
        return INSTEAD[name]
    having = [
        f"{PROGRAM} {other}"
        for other in NAMES
        if any(
            name in param.opts and not getattr(param, "hidden", False) for param in load_command(other).params
        )
    ]
    if not having:
        return None
    return f"{listed(having, _COMMANDS_SHOWN)} {'has' if len(having) == 1 else 'have'} it"


def _place_of_temporary(error: OSError) -> str:
    """Return where temporary files are if they found no space; errors of named files tell the place."""
    if error.filename or error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return ""
    # Imported here: few commands have temporary files.
    import tempfile

    return f"; temporary files are in {tempfile.gettempdir()}, TMPDIR names another folder"


def _reached(error: BaseException) -> str:
    """Return how far an interrupted command got."""
    return "".join(f"; {note}" for note in getattr(error, "__notes__", ()))


def _failed(error: BinxError, arguments: Sequence[str]) -> ExitCode:
    if error.exit_code != ExitCode.DONE:
        say_error("; ".join([str(error), *_ways_out(error, arguments)]))
        _show_traceback()
    return error.exit_code


def _ways_out(error: BinxError, arguments: Sequence[str]) -> Iterator[str]:
    """Yield advice about damage, naming the command's options."""
    if not isinstance(error, DamagedError) or not arguments or arguments[0] not in NAMES:
        return
    types = {name: param.type for param in load_command(arguments[0]).params for name in param.opts}
    if isinstance(error, ChecksumError) and "--no-checksums" in types:
        yield _CHANGED
    if "salvage" in getattr(types.get("--on-damage"), "choices", ()):
        yield _DAMAGE
    yield _ALL_DAMAGE


def _shows_tracebacks() -> bool:
    return os.environ.get(_TRACEBACK, "0") not in ("", "0")


def _show_traceback() -> None:
    if _shows_tracebacks():
        traceback.print_exc()


def _keep_standard_numbers() -> None:
    """Reserve the numbers of standard streams that were closed at start, so that no file gets them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _prepare_streams() -> None:
    """Show characters that the terminal's encoding lacks as escapes, instead of failing.

    Messages of destructors after a reported error, such as those of Parquet writers on a full disk, are
    suppressed unless requested.
    """
    if not _shows_tracebacks():
        sys.unraisablehook = lambda _: None
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _set_up_libraries() -> None:
    """Keep freed memory between batches, and no threads for algebra.

    The system would zero memory again for the next batch. pyarrow uses the same allocator: its own pool
    would return memory. pyarrow loads numpy, whose OpenBLAS starts a thread for each processor: they wait
    for work by counting, and the process dies if it gets none.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    keep_freed_memory()


def _allow_many_files() -> None:
    """Raise the limit of open files; a chain may have more logs than the default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < target:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))


def _clear_away_on_signals() -> None:
    """Make SIGTERM and SIGHUP raise an error, so that temporary files are removed."""

    def terminate(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise _TerminatedError(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, terminate)


def _leave_standard_output() -> None:
    """Flush standard output, ignoring a reader that is gone."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)
