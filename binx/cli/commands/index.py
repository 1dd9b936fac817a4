"""``binx index``: store the result of a scan next to the log."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

from binx.cli.command import PATH, Example, command, flag, option
from binx.cli.options import FILES, NO_CHECKSUMS, QUIET, as_json_option
from binx.cli.progress import progress_bar
from binx.cli.terminal import TextOutput, say_error, say_note, text_output
from binx.errors import BinxError, ExitCode, OutputError, SourceError, UsageError
from binx.log.binlog_file import BinlogFile
from binx.log.chain.inputs import STANDARD_INPUT, WatchedSource, expand_paths
from binx.log.index.writer import IndexedLog, IndexState, index_log
from binx.source.opening import is_encrypted
from binx.source.remote import is_uri
from binx.source.wording import counted
from binx.stats.text import bytes_text, safe_text

EXAMPLES = (
    Example("once, to speed up later searches", "binx index mysql-bin.*"),
    Example(
        "if the folder of the logs is read-only",
        "binx index -o indexes mysql-bin.index && binx ls --index-dir indexes mysql-bin.index",
    ),
    Example(
        "logs that were still being written",
        "binx index --json mysql-bin.* | jq -r 'select(.unfinished_bytes > 0) | .path'",
    ),
)


@command("index", examples=EXAMPLES)
@flag("--check", "Write nothing; report which index files are up to date.")
@flag("--force", "Also rewrite index files that are up to date.")
@option(
    "-o",
    "--output DIR",
    "folder",
    envvar="BINX_INDEX_DIR",
    type=PATH,
    help="Write index files to this folder instead of next to the logs.",
)
@as_json_option("Print one JSON object per line.")
@NO_CHECKSUMS
@QUIET
@FILES
def index_command(
    check: bool,
    force: bool,
    folder: str | None,
    as_json: bool,
    no_checksums: bool,
    quiet: bool,
    files: tuple[str, ...],
) -> ExitCode:
    """Write an index file next to each log, which other commands use instead of reading the log."""
    if check and force:
        raise UsageError("--check and --force cannot be combined")
    if STANDARD_INPUT in files:
        raise UsageError("an index file cannot be written for standard input; give files")
    if folder is not None and is_uri(folder):
        raise UsageError(
            f"expected a local folder, found {safe_text(folder)}; leave out -o for logs in an object"
            " store: their index files are written next to them"
        )
    paths = expand_paths(files)
    code = ExitCode.DONE
    encrypted = 0
    with text_output(plain=as_json) as output, progress_bar("index", quiet=quiet) as bar:
        sizes = [_size(path) for path in paths]
        bar.expect(sum(sizes))
        for number, (path, reached) in enumerate(zip(paths, accumulate(sizes), strict=True)):
            try:
                with BinlogFile.open(path) as file:
                    is_secret = is_encrypted(file.source)
                    file.source = WatchedSource(file.source, bar.advance)
                    done = index_log(file, folder, check=check, force=force, verify=not no_checksums)
            except BinxError as error:
                say_error(str(error))
                code = ExitCode.FAILED
                left = len(paths) - number - 1
                if left and is_uri(path) and _is_of_the_store(error):
                    say_error(
                        f"the logs after this one ({left:,}) were not processed, because"
                        " each might wait as long for the object store; run the command again when it"
                        " responds"
                    )
                    break
                continue
            bar.reach(reached)
            encrypted += is_secret and done.state is IndexState.WRITTEN
            if check and not done.is_true and code is ExitCode.DONE:
                code = ExitCode.ABSENT
            if as_json or not quiet:
                _write_report(done, as_json, output)
    if encrypted and not quiet:
        say_note(
            "index files are not encrypted: they contain GTIDs, times and table names of"
            f" {counted(encrypted, 'encrypted log')}"
        )
    return code


def _is_of_the_store(error: BinxError) -> bool:
    """Whether an error concerns the log's location rather than the log."""
    return isinstance(error, SourceError | OutputError) and not isinstance(error.__cause__, FileNotFoundError)


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _write_report(done: IndexedLog, as_json: bool, output: TextOutput) -> None:
    if as_json:
        from binx.report.document import json_line

        output.line(json_line("index", done))
        return
    text = f"{safe_text(done.index_path)}: {done.state}"
    if done.transactions is not None and done.index_bytes is not None:
        text += f", {counted(done.transactions, 'transaction')}, {bytes_text(done.index_bytes)}"
    if done.unfinished_bytes:
        text += f"; the log's last {done.unfinished_bytes:,} bytes are an incomplete transaction"
    if done.error is not None:
        text += f": {done.error}"
    output.line(text)
