"""Where the process begins and ends: the one place that turns errors into messages and exit codes."""

from __future__ import annotations

import atexit
import gc
import os
import resource
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType, ModuleType
from typing import NoReturn

from binx.cli.commands import quick_answer, without_help_word
from binx.cli.terminal import say_error
from binx.errors import BinxError, DamagedError, ExitCode

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it."""

_SIGNAL_BASE = 128
_OPEN_FILES = 65_536
_TRACEBACK = "BINX_TRACEBACK"
_DOCUMENTS = "pyarrow.vendored.docscrape"
_DAMAGE = (
    "extract or to-parquet with --on-damage salvage recovers the intact transactions; `binx verify`"
    " checks checksums and structure, which may be correct all the same"
)
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


class _TerminatedError(BaseException):
    """Another process ended this one; what is half done is cleared away as the error passes."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def main() -> NoReturn:
    """Run the process's command line, and end the process.

    What is registered for the end is done, but Python is not taken apart object by object: that takes as long
    as a short command, and the system does it at once.
    """
    # Modules live as long as the process: to look among them for garbage every 700 objects only costs time.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    _load_less()
    code = run()
    atexit._run_exitfuncs()
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code)


class _NoDocument:
    """A docstring of which nothing is read: it has no parameters."""

    def __init__(self, *_: str) -> None:
        pass

    def __getitem__(self, _: str) -> tuple[()]:
        return ()


def _load_less() -> None:
    """Keep Python and pyarrow from what takes long at the start, and that no command needs."""
    # Functions of libraries are looked up when they are first called: pyarrow's have thousands.
    sys.setdlopenflags(os.RTLD_LAZY)
    # Where numpy is installed, pyarrow loads it, which takes longer than pyarrow itself; only Spark uses it
    # (see binx.cli.spark_options.allow_numpy).
    sys.modules["numpy"] = None  # type: ignore[assignment]
    # pyarrow.compute parses the docstrings of some seventy classes, to make docstrings of its functions.
    documents = ModuleType(_DOCUMENTS)
    vars(documents)["NumpyDocString"] = _NoDocument
    sys.modules[_DOCUMENTS] = documents


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        arguments: without the program's name; by default those of the process.

    Returns:
        The exit code.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _keep_standard_numbers()
        _prepare_streams()
        _clear_away_on_signals()
        _allow_many_files()
        code = _answer(given)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BinxError as error:
        return _failed(error)
    except KeyboardInterrupt:
        say_error(f"interrupted{_reached()}", label="")
        return INTERRUPTED
    except _TerminatedError as error:
        say_error(f"terminated{_reached()}", label="")
        return _SIGNAL_BASE + error.number
    except BrokenPipeError:
        return ExitCode.DONE
    except MemoryError:
        say_error("out of memory; close other programs or process less at once")
        _show_traceback()
        return ExitCode.FAILED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        say_error(f"{place}the system says: {error.strerror or error}")
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


def _answer(arguments: list[str]) -> int:
    answer = quick_answer(arguments)
    if answer is not None:
        print(answer)
        return ExitCode.DONE
    from binx.cli.plain_arguments import run_plain

    given = without_help_word(arguments)
    code = run_plain(given)
    if code is not None:
        return code
    from binx.cli.application import invoke

    return invoke(given)


def _reached() -> str:
    """How far a command got that was ended."""
    if "binx.cli.progress" not in sys.modules:
        return ""
    from binx.cli.progress import ProgressBar

    reached = None if ProgressBar.latest is None else ProgressBar.latest.reached
    return f"; {reached}" if reached else ""


def _failed(error: BinxError) -> int:
    if error.exit_code != ExitCode.DONE:
        way_out = f"; {_DAMAGE}" if isinstance(error, DamagedError) else ""
        say_error(f"{error}{way_out}")
        _show_traceback()
    return error.exit_code


def _shows_tracebacks() -> bool:
    return os.environ.get(_TRACEBACK, "0") not in ("", "0")


def _show_traceback() -> None:
    if _shows_tracebacks():
        import traceback

        traceback.print_exc()


def _keep_standard_numbers() -> None:
    """Let no file have the number of a standard stream that the process was started without."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _prepare_streams() -> None:
    """Let text that the terminal's encoding lacks be shown as escapes, not end the process.

    What destructors say after an error that was told already, as those of Parquet writers on a full disk do,
    is kept from people who did not ask for it.
    """
    if not _shows_tracebacks():
        sys.unraisablehook = lambda _: None
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _allow_many_files() -> None:
    """A chain may have more logs than the files that a process may open by default."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if most == resource.RLIM_INFINITY else min(most, _OPEN_FILES)
    if now != resource.RLIM_INFINITY and now < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _clear_away_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the process as an error does, so that no half-written file stays."""

    def terminate(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise _TerminatedError(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, terminate)


def _leave_standard_output() -> None:
    """Write what is left, and do not complain about output whose reader is gone."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.close(nothing)


if __name__ == "__main__":
    main()
