"""Tools for assistants, called by the protocol's own client."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent, Tool

from tests.cli.conftest import Shop
from tests.cli.forking import forking
from tests.cli.process import binx, environment

Calls = Sequence[tuple[str, dict[str, Any]]]


def answers(
    calls: Calls, *arguments: str | Path, env: dict[str, str] | None = None
) -> list[tuple[str, bool]]:
    """What tools answer, and whether they failed."""

    async def talk(client: Client) -> list[tuple[str, bool]]:
        found = []
        for name, given in calls:
            result = await client.call_tool(name, given)
            (content,) = result.content
            assert isinstance(content, TextContent)
            found.append((content.text, result.is_error))
        return found

    found: list[tuple[str, bool]] = _with_client(talk, arguments, env)
    return found


def _with_client(
    talk: Callable[[Client], Any], arguments: Sequence[str | Path], env: dict[str, str] | None = None
) -> Any:
    async def run(program: Path) -> Any:
        server = StdioServerParameters(
            command=str(program), args=["mcp", "--quiet", *map(str, arguments)], env=environment(env)
        )
        async with Client(server) as client:
            return await talk(client)

    with TemporaryDirectory() as folder:
        program = Path(folder) / "binx"
        program.write_text(forking().stand_in())
        program.chmod(0o755)
        return anyio.run(run, program)


def tools(folder: Path) -> dict[str, Tool]:
    async def talk(client: Client) -> dict[str, Tool]:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    found: dict[str, Tool] = _with_client(talk, [folder])
    return found


def test_tools_say_what_they_take_and_that_they_only_read(shop: Shop) -> None:
    found = tools(shop.folder)
    assert set(found) == {"ls", "show", "why", "stats", "verify", "diff", "state", "query", "undo"}
    for tool in found.values():
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
    schema = found["why"].input_schema
    assert schema["required"] == ["files"]
    assert schema["properties"]["table"]["type"] == "array"
    assert "output" not in found["undo"].input_schema["properties"]
    assert found["state"].input_schema["properties"]["format"]["enum"] == ["csv", "sql"]


def test_answers_are_what_the_commands_print(shop: Shop) -> None:
    log, other = shop.logs[0], shop.logs[1]
    gtid = binx("ls", "--kind", "dml", "--limit", "1", log).out.split("\t")[1]
    calls: list[tuple[str, dict[str, Any], list[str | Path]]] = [
        ("ls", {"files": [log.name], "limit": "3"}, ["ls", "--limit", "3", log]),
        ("show", {"files": [str(log)], "gtid": [gtid]}, ["show", "--gtid", gtid, log]),
        (
            "why",
            {"files": ["mysql-bin.0*"], "table": ["shop.customers"], "pk": ["1"]},
            ["why", "--table", "shop.customers", "--pk", "1", *shop.logs],
        ),
        ("stats", {"files": ["."], "by": ["table"]}, ["stats", "--by", "table", shop.folder]),
        ("verify", {"files": [str(shop.folder)], "quick": True}, ["verify", "--quick", shop.folder]),
        ("diff", {"left": str(log), "right": str(other), "show": 1}, ["diff", "--show", "1", log, other]),
        (
            "state",
            {"files": ["mysql-bin.index"], "table": "shop.customers"},
            ["state", "--table", "shop.customers", "--format", "csv", shop.folder / "mysql-bin.index"],
        ),
        (
            "query",
            {"files": [str(log)], "sql": "SELECT count(*) AS n FROM shop.orders"},
            ["query", "--format", "csv", "SELECT count(*) AS n FROM shop.orders", log],
        ),
        (
            "undo",
            {"files": [str(log)], "gtid": [gtid]},
            ["extract", "--format", "sql", "--reverse", "--gtid", gtid, log],
        ),
    ]
    found = answers([(name, given) for name, given, _ in calls], shop.folder)
    for (name, _, command_line), (text, is_error) in zip(calls, found, strict=True):
        done = binx(*command_line)
        assert done.out.strip(), name
        assert text == "\n".join(filter(None, [done.out.rstrip("\n"), done.err.rstrip("\n")])), name
        assert not is_error


@pytest.fixture
def outside(shop: Shop, tmp_path: Path) -> Path:
    """A folder to serve, with ways that lead out of it."""
    served = tmp_path / "served"
    served.mkdir()
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(shop.logs[0], served)
    shutil.copy(shop.logs[1], tmp_path / "elsewhere")
    (served / "link.000002").symlink_to(tmp_path / "elsewhere" / shop.logs[1].name)
    (served / "out").symlink_to(tmp_path / "elsewhere")
    (served / "out.index").write_text(f"{tmp_path / 'elsewhere' / shop.logs[1].name}\n")
    (tmp_path / "served-too").mkdir()
    shutil.copy(shop.logs[1], tmp_path / "served-too")
    return served


def test_no_path_leads_out_of_the_folders(outside: Path) -> None:
    inside = {"s3://bucket/logs", "file:///etc/passwd", "-"}
    """Names below the folder, of which there is no file."""
    paths = (
        "../elsewhere",
        "/etc/passwd",
        "link.000002",
        "out",
        "out/mysql-bin.000002",
        "out.index",
        ".",
        "l*",
        "*/../../elsewhere/*",
        "../served-too",
        *inside,
    )
    found = answers([("ls", {"files": [path]}) for path in paths], outside)
    for path, (text, is_error) in zip(paths, found, strict=True):
        assert is_error, path
        assert ("is outside the folders" in text) is (path not in inside), text


def test_sql_reads_nothing_else(outside: Path) -> None:
    calls = [
        ("query", {"files": ["mysql-bin.000001"], "sql": sql})
        for sql in (
            "SELECT * FROM read_text('/etc/passwd')",
            f"COPY (SELECT 1) TO '{outside}/written.csv'",
            "SELECT getenv('PATH')",
            "FROM '/etc/passwd'",
        )
    ]
    for text, is_error in answers(calls, outside):
        assert is_error or "does not exist" in text
        assert "root:" not in text
    assert not (outside / "written.csv").exists()


def test_options_are_only_those_that_a_tool_names(shop: Shop, tmp_path: Path) -> None:
    log = str(shop.logs[0])
    out = tmp_path / "out"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("undo", {"files": [log], "output": str(out)}),
        ("stats", {"files": [log], "html": str(out)}),
        ("ls", {"files": [log], "limit": ["1", "2"]}),
        ("ls", {"files": [f"--html={out}"]}),
        ("ls", {}),
        ("ls", {"files": [f"{log}\0"]}),
        ("ls", {"files": [log], "grep": ["x" * 200_000]}),
        ("rm", {"files": [log]}),
    ]
    for text, is_error in answers(calls, shop.folder):
        assert is_error, text
    assert not out.exists()


def test_defaults_of_options_do_not_apply(shop: Shop, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    config = tmp_path / "config.toml"
    config.write_text(f'[stats]\nhtml = "{page}"\n')
    env = {"BINX_CONFIG": str(config), "BINX_STATS_HTML": str(page)}
    ((text, is_error),) = answers([("stats", {"files": ["."]})], shop.folder, env=env)
    assert not is_error
    assert "transactions" in text
    assert not page.exists()


def test_an_answer_is_bounded(shop: Shop) -> None:
    ((text, is_error),) = answers([("ls", {"files": ["."]})], "--answer-bytes", "1000", shop.folder)
    *lines, said = text.splitlines()
    assert lines == binx("ls", shop.folder).lines[: len(lines)]
    assert len("\n".join(lines)) <= 1000
    assert said == "The answer is cut after 1,000 bytes: ask for less."
    assert not is_error


def test_a_call_ends_in_time(shop: Shop) -> None:
    sql = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"
    ((text, is_error),) = answers(
        [("query", {"files": ["mysql-bin.000001"], "sql": sql})], "--timeout", "2", shop.folder
    )
    assert is_error
    assert text.splitlines()[-1] == "The command was ended after 2 seconds: ask for less."


def test_a_failure_is_the_message_of_the_command(shop: Shop) -> None:
    ((text, _),) = answers([("why", {"files": ["."], "table": ["shop.order"], "pk": ["1"]})], shop.folder)
    assert "did you mean shop.orders?" in text


def test_what_is_not_there_is_a_failure_unless_the_rest_is_answered(shop: Shop, tmp_path: Path) -> None:
    shutil.copy(shop.logs[0], tmp_path)
    gtid = binx("ls", "--kind", "dml", "--limit", "1", shop.logs[0]).out.split("\t")[1]
    (tmp_path / "empty").mkdir()
    (tmp_path / "gone.index").write_text("./mysql-bin.000009\n")
    log = shop.logs[0].name
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ls", {"files": ["empty"]}),
        ("verify", {"files": ["gone.index"]}),
        ("state", {"files": [log], "table": "shop.nothing"}),
        ("ls", {"files": [log], "gtid": [gtid, gtid.replace(":", ":9999")]}),
    ]
    found = answers(calls, tmp_path)
    assert [is_error for _, is_error in found] == [True, True, True, False]
    assert found[-1][0].endswith(f"not in these files: {gtid.replace(':', ':9999')}")


def test_damage_is_passed_over_as_its_message_says(shop: Shop, tmp_path: Path) -> None:
    log = tmp_path / shop.logs[0].name
    log.write_bytes(shop.logs[0].read_bytes()[:100_000])
    calls = [("ls", {"files": [log.name], **more}) for more in ({}, {"on_damage": "salvage"})]
    (stopped, is_error), (salvaged, is_worse) = answers(calls, tmp_path)
    assert is_error
    assert "--on-damage salvage" in stopped
    assert not is_worse
    assert salvaged.splitlines()[:100] == stopped.splitlines()[:100]


def test_folders_exist(tmp_path: Path) -> None:
    done = binx("mcp", tmp_path / "none")
    assert done.code == 2
    assert done.err == f"binx: error: {tmp_path / 'none'}: expected a folder, found none\n"
