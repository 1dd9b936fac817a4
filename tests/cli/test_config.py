"""Defaults that a user sets: which one holds, what is refused, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Where the file of defaults is looked for."""
    return tmp_path / "config.toml"


def listed(shop: Shop, *arguments: str, **env: str) -> int:
    """How many lines ``binx ls`` has."""
    ended = binx("ls", *arguments, *shop.logs, env=env)
    assert ended.code == 0, ended.err
    return len(ended.lines)


def test_the_command_line_is_stronger_than_the_environment_and_that_than_the_file(
    shop: Shop, config: Path
) -> None:
    config.write_text("[ls]\nlimit = 3\n")
    file = {"BINX_CONFIG": str(config)}
    assert listed(shop, **file) == 3
    assert listed(shop, **file, BINX_LS_LIMIT="4") == 4
    assert listed(shop, "--limit", "5", **file, BINX_LS_LIMIT="4") == 5
    assert listed(shop, **file, BINX_LS_LIMIT="") == 3


def test_shared_options_are_set_for_all_commands_and_again_for_one(shop: Shop, config: Path) -> None:
    config.write_text("quiet = true\n[extract]\nquiet = false\n")
    env = {"BINX_CONFIG": str(config)}
    since = ("--since", "2020-01-01", str(shop.logs[0]))
    assert binx("ls", *since, env=env).err == ""
    assert binx("extract", *since, env=env).err != ""
    assert binx("extract", *since, env=env | {"BINX_QUIET": "yes"}).err == ""
    assert binx("ls", *since, env=env | {"BINX_LS_QUIET": "no", "BINX_QUIET": "1"}).err != ""


def test_only_shared_options_are_taken_from_short_names(shop: Shop) -> None:
    assert listed(shop, BINX_LIMIT="3") == listed(shop)


def test_options_that_may_be_repeated_take_lists(shop: Shop, config: Path) -> None:
    config.write_text('[ls]\ntable = ["shop.orders", "shop.visits"]\n')
    assert listed(shop, BINX_CONFIG=str(config)) == listed(
        shop, "--table", "shop.orders", "--table", "shop.visits"
    )
    assert listed(shop, BINX_LS_TABLE="shop.orders") == listed(shop, "--table", "shop.orders")


def test_the_file_is_in_the_users_folder_of_configurations(shop: Shop, tmp_path: Path) -> None:
    folder = tmp_path / "binx"
    folder.mkdir()
    (folder / "config.toml").write_text("[ls]\nlimit = 2\n")
    program = ("env", "--unset=BINX_CONFIG", f"XDG_CONFIG_HOME={tmp_path}")
    assert len(binx("ls", *shop.logs, prefix=program).lines) == 2
    (tmp_path / ".config").symlink_to(tmp_path)
    unset = ("env", "--unset=BINX_CONFIG", "--unset=XDG_CONFIG_HOME", f"HOME={tmp_path}")
    assert len(binx("ls", *shop.logs, prefix=unset).lines) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[ls]\nlimt = 3\n", "[ls] has no option 'limt'; did you mean limit?"),
        ("quit = true\n", "there is no option 'quit'; did you mean quiet?"),
        ("limit = 3\n", "options of a single command belong in its table"),
        ("ls = 3\n", "there is no option 'ls'"),
        ("[ls\n", "the configuration file is not valid TOML"),
        ("[ls]\nquiet = 'perhaps'\n", "'perhaps' is not a valid boolean"),
        ("[ls]\nlimit = true\n", "expected a text or a number for limit, found True"),
        ("[ls]\nlimit = 'many'\n", "'many' is not a valid integer"),
        ("[ls]\nsort = 'colour'\n", "'--sort'"),
        ("\0", "the configuration file is not valid TOML"),
    ],
)
def test_a_default_that_cannot_hold_is_refused(shop: Shop, config: Path, text: str, said: str) -> None:
    config.write_text(text)
    ended = binx("ls", *shop.logs, env={"BINX_CONFIG": str(config)})
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_file_that_was_named_and_is_not_there_is_told(shop: Shop, config: Path) -> None:
    ended = binx("ls", *shop.logs, env={"BINX_CONFIG": str(config)})
    assert ended.code == 2
    assert "the configuration file given by BINX_CONFIG does not exist" in ended.err
    assert binx("ls", "--help", env={"BINX_CONFIG": str(config)}).code == 0


def test_config_shows_what_is_set_and_where(config: Path) -> None:
    config.write_text('quiet = true\n[to-parquet]\ncompression = "lz4"\n')
    env = {"BINX_CONFIG": str(config), "BINX_LS_TABLE": "shop.*"}
    document = json.loads(binx("config", "--json", env=env).out)
    assert (document["file"], document["exists"]) == (str(config), True)
    assert {"command": "ls", "option": "table", "value": ["shop.*"], "origin": "BINX_LS_TABLE"} in document[
        "settings"
    ]
    lines = binx("config", env=env).lines
    assert f"to-parquet compression lz4 {config} [to-parquet]" in [" ".join(line.split()) for line in lines]
    shown = on_terminal("config", width=60, env=env | {"NO_COLOR": "1"}).lines[1:]
    assert max(map(len, shown)) <= 60
    assert binx("config", "--path", env=env).out == f"{config}\n"


def test_config_refuses_the_table_of_no_command(config: Path) -> None:
    config.write_text("[extrakt]\nlimit = 1\n")
    ended = binx("config", env={"BINX_CONFIG": str(config)})
    assert ended.code == 2
    assert "there is no command 'extrakt'; did you mean extract?" in ended.err
