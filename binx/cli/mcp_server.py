"""A server of the Model Context Protocol: commands that read, as tools for assistants.

A tool's parameters are options of its command. A call runs the command in a process of its own, which ends
with its time or with the size of its answer; paths lead into the server's folders, or the call is refused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import anyio
import click
import jsonschema
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from binx.cli.application import PROGRAM, load_command
from binx.cli.command import PATH, Option
from binx.cli.defaults import VARIABLE
from binx.cli.selecting import SELECTION
from binx.errors import BinxError, ExitCode, UsageError
from binx.log.chain.inputs import expand_paths
from binx.source.wording import did_you_mean, listed
from binx.version import __version__

_KEYS = ("BINX_KEYRING", "BINX_KEY_FILE", "BINX_IDENTITY")
_BINARY = ("binlog", "parquet")
_OF_ALL = ("tz", "on-damage", "no-checksums", "format-from")
"""Options of all tools whose commands have them; messages about damage name some."""

_TEXT, _OUT = ("--layout=text",), ("--output=-",)


class _Tool(NamedTuple):
    """A command as a tool: arguments that each call has, and options of callers beside those that select."""

    command: str
    fixed: tuple[str, ...]
    options: tuple[str, ...]
    summary: str = ""

    def parameters(self) -> dict[str, click.Parameter]:
        """Return the command's arguments, and the options that may be given, by name."""
        command = load_command(self.command)
        arguments = {str(one.name): one for one in command.params if isinstance(one, click.Argument)}
        options = {
            name.replace("-", "_"): option
            for name, option in command.options.items()
            if option.section == SELECTION or name in (*self.options, *_OF_ALL)
        }
        return {**arguments, **options}


TOOLS = {
    "ls": _Tool("ls", _TEXT, ("sort", "reverse", "columns", "quick")),
    "show": _Tool("show", _TEXT, ("rows",)),
    "why": _Tool("why", _TEXT, ()),
    "stats": _Tool("stats", _TEXT, ("by", "top", "quick")),
    "verify": _Tool("verify", _TEXT, ("quick",)),
    "diff": _Tool("diff", _TEXT, ("gtids", "show")),
    "state": _Tool(
        "state", (*_OUT, "--format=csv"), ("table", "at", "pk", "where", "base", "key", "format", "no-create")
    ),
    "query": _Tool("query", (*_OUT, "--isolated", "--format=csv"), ("format",)),
    "undo": _Tool(
        "extract",
        (*_OUT, "--format=sql", "--reverse"),
        ("only-matching", "operations", "on-conflict", "rewrite-db"),
        "SQL that undoes the selected transactions, newest first, and checks itself. Nothing is executed.",
    ),
}


class AssistantServer:
    """Tools for the files below some folders.

    Args:
        folders: the folders.
        answer_bytes: maximum size of an answer.
        seconds: maximum duration of a call.
    """

    def __init__(self, folders: Sequence[str], answer_bytes: int, seconds: float) -> None:
        self._folders = [os.path.realpath(folder) for folder in folders]
        self._answer_bytes = answer_bytes
        self._seconds = seconds
        self._running = anyio.Semaphore(2)

    async def serve(self) -> None:
        """Answer on standard input and output until the client leaves."""
        server = Server(
            PROGRAM,
            version=__version__,
            instructions="Binary logs of MySQL and MariaDB, and data sets of their row changes, below"
            f" {', '.join(self._folders)}. A folder stands for the logs in it. Begin with stats; ls lists"
            " transactions; narrow by time, table or GTID. Times are in UTC unless they have a zone.",
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    async def _list(self, _context: object, _page: object) -> types.ListToolsResult:
        reads = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=tool.summary or load_command(tool.command).help,
                    input_schema=_schema(tool),
                    annotations=reads,
                )
                for name, tool in TOOLS.items()
            ]
        )

    async def _call(self, _context: object, call: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            if call.name not in TOOLS:
                raise UsageError(f"there is no tool {call.name!r}{did_you_mean(call.name, TOOLS)}")
            tool, given = TOOLS[call.name], call.arguments or {}
            jsonschema.validate(given, _schema(tool))
            text, is_error = await self._answer(self._command_line(tool, given))
        except jsonschema.ValidationError as error:
            text, is_error = f"{'.'.join(map(str, error.path))}: {error.message}".removeprefix(": "), True
        except (BinxError, ValueError, OSError) as error:
            text, is_error = str(error), True
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)

    def _command_line(self, tool: _Tool, given: Mapping[str, Any]) -> list[str]:
        """Return a call as a command line."""
        options, arguments = list(tool.fixed), list[str]()
        for name, parameter in tool.parameters().items():
            value = given.get(name)
            texts = list(map(str, value if isinstance(value, list) else [] if value is None else [value]))
            if parameter.type is PATH:
                texts = [path for text in texts for path in self._inside(text)]
            if not isinstance(parameter, Option):
                arguments += texts
            elif parameter.is_flag:
                options += [f"--{parameter.long_name}"] if value else []
            else:
                options += [f"--{parameter.long_name}={text}" for text in texts]
        return [tool.command, *options, "--", *arguments]

    def _inside(self, text: str) -> list[str]:
        """Return the paths that a path or a pattern means, relative to any of the folders.

        Raises:
            UsageError: one, or a log that an index or a folder among them names, is outside the folders.
        """
        places = [str(Path(folder, text)) for folder in self._folders]
        paths = next((found for found in map(glob, places) if found), places[:1])
        named: list[str] = []
        with suppress(BinxError):  # The command says what is wrong with them.
            named = expand_paths(paths)
        for path in map(os.path.realpath, (*paths, *named)):
            if not any(Path(path).is_relative_to(folder) for folder in self._folders):
                raise UsageError(f"{text} is outside the folders of this server: {listed(self._folders, 10)}")
        return sorted(map(os.path.realpath, paths))

    async def _answer(self, command_line: list[str]) -> tuple[str, bool]:
        """Return what a command prints, its messages last, and whether it failed."""
        program = [sys.executable, "-P", "-m", PROGRAM, *command_line]
        # Some options of which users have defaults would write.
        kept = {k: v for k, v in os.environ.items() if k in _KEYS or not k.startswith("BINX_")} | {
            VARIABLE: ""
        }
        answer, most = bytearray(), self._answer_bytes
        async with self._running:
            with TemporaryFile() as messages:
                process = await anyio.open_process(program, stdin=DEVNULL, stderr=messages, env=kept)
                assert process.stdout is not None
                try:
                    with anyio.move_on_after(self._seconds) as span:
                        async for part in process.stdout:
                            answer += part
                            if len(answer) > most:
                                break
                        else:
                            await process.wait()
                finally:
                    # It has some seconds to remove its temporary files.
                    with anyio.move_on_after(5, shield=True):
                        with suppress(ProcessLookupError):
                            process.terminate()
                        await process.aclose()
                messages.seek(0)
                note = messages.read(most).decode("utf-8", "replace").rstrip()
        if len(answer) > most:
            answer = answer[:most].rpartition(b"\n")[0] or answer[:most]
            note = f"The answer is cut after {most:,} bytes: ask for less."
        elif span.cancelled_caught:
            note = f"The command was ended after {self._seconds:g} seconds: ask for less."
        text = "\n".join(filter(None, [answer.decode("utf-8", "replace").rstrip("\n"), note]))
        # Where something is not there, the rest may be.
        failed = (ExitCode.FAILED, ExitCode.USAGE, *(() if answer else (ExitCode.ABSENT,)))
        return text, span.cancelled_caught or process.returncode in failed


def _schema(tool: _Tool) -> dict[str, Any]:
    """Return the JSON Schema of a tool's parameters."""
    properties: dict[str, dict[str, Any]] = {}
    known = tool.parameters()
    for name, parameter in known.items():
        schema: dict[str, Any] = {"type": "string"}
        if isinstance(parameter.type, click.Choice):
            schema["enum"] = [choice for choice in parameter.type.choices if choice not in _BINARY]
        elif isinstance(parameter.type, click.IntRange | click.types.BoolParamType):
            schema["type"] = "integer" if isinstance(parameter.type, click.IntRange) else "boolean"
        if parameter.multiple or parameter.nargs != 1:
            schema = {"type": "array", "items": schema, "minItems": 1}
        properties[name] = schema | ({"description": parameter.help} if isinstance(parameter, Option) else {})
    required = [name for name, parameter in known.items() if parameter.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
