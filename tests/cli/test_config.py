"""Settings, keys and what ``--verbose`` tells."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pyrage
import pytest

from binx.archive.objects import AgeWriter
from binx.source.keyring import read_keyring
from tests.cli.conftest import Shop
from tests.cli.process import binx, on_terminal
from tests.conftest import TESTDATA
from tests.source.ages import EXAMPLE_RECIPIENT
from tests.source.test_compressed import key_of


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


def test_a_file_in_the_home_folder_that_cannot_be_read_is_a_warning(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "binx").mkdir()
    file = tmp_path / "binx" / "config.toml"
    file.symlink_to(file)
    ended = binx("ls", *shop.logs, prefix=("env", "--unset=BINX_CONFIG", f"XDG_CONFIG_HOME={tmp_path}"))
    assert (ended.code, ended.out) == (0, binx("ls", *shop.logs).out)
    assert ended.err.startswith(f"binx: warning: {file}: the configuration file cannot be read: ")
    named = binx("ls", *shop.logs, env={"BINX_CONFIG": str(file)})
    assert named.code == 2


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
        ("[ls]\nlimit = 'many'\n", "'--limit'"),
        ("[ls]\nsort = 'colour'\n", "'--sort'"),
        ("\0", "the configuration file is not valid TOML"),
    ],
)
def test_a_default_that_cannot_hold_is_refused(shop: Shop, config: Path, text: str, said: str) -> None:
    config.write_text(text)
    ended = binx("ls", *shop.logs, env={"BINX_CONFIG": str(config)})
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_file_that_was_named_and_is_not_there_is_reported(shop: Shop, config: Path) -> None:
    ended = binx("ls", *shop.logs, env={"BINX_CONFIG": str(config)})
    assert ended.code == 2
    assert "the configuration file given by BINX_CONFIG does not exist" in ended.err
    assert binx("ls", "--help", env={"BINX_CONFIG": str(config)}).code == 0


def test_config_shows_what_is_set_and_where(config: Path) -> None:
    config.write_text('quiet = true\n[to-parquet]\ncompression = "lz4"\n')
    env = {"BINX_CONFIG": str(config), "BINX_LS_TABLE": "shop.*"}
    document = json.loads(binx("config", "--json", env=env).out)
    assert (document["path"], document["exists"]) == (str(config), True)
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


FOLDER = TESTDATA / "mysql-9.7" / "encrypted"
KEYRING = FOLDER / "keyring.json"
LOG = FOLDER / "mysql-bin.000003"
COMMANDS = [
    ["ls", "--json"],
    ["stats", "--json"],
    ["verify", "--json"],
    ["show", "--hex"],
    ["events"],
    ["to-parquet", "-o", "lake"],
    ["index", "-o", "indexes"],
    ["extract", "-o", "out"],
]


def secrets() -> list[bytes]:
    """The keys, as bytes, as hexadecimal digits and as Python shows them."""
    # What has other sizes are numbers of keys, which are no secret.
    keys = [key for key in read_keyring(str(KEYRING)).values() if len(key) == 32]
    assert keys
    return [
        form
        for key in keys
        for form in (key, key.hex().encode(), key.hex().upper().encode(), repr(key)[2:-1].encode())
    ]


@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_key_is_said_or_written(command: list[str], damaged: bool, tmp_path: Path) -> None:
    log = tmp_path / LOG.name
    data = bytearray(LOG.read_bytes())
    if damaged:
        data[len(data) // 2] ^= 1
    log.write_bytes(data)
    ended = binx(*command, "--keyring", KEYRING, log, cwd=tmp_path, env={"BINX_TRACEBACK": "1"})
    assert ended.code in ((1, 3) if damaged else (0,)), ended.err
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != log]
    for text in (ended.out.encode(), ended.err.encode(), *written):
        assert not any(secret in text for secret in secrets())


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_identity_is_said_or_written(command: list[str], fits: bool, tmp_path: Path) -> None:
    log, key = tmp_path / "mysql-bin.000001.age", tmp_path / "key.txt"
    stream = io.BytesIO()
    identity = pyrage.x25519.Identity.generate()
    key.write_text(str(identity))
    writer = AgeWriter(stream, [str(identity.to_public()) if fits else EXAMPLE_RECIPIENT])
    writer.write((TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog").read_bytes())
    writer.finish()
    log.write_bytes(stream.getvalue())
    ended = binx(*command, "--identity", key, log, cwd=tmp_path, env={"BINX_TRACEBACK": "1"})
    assert ended.code in ((0,) if fits else (1, 3)), ended.err
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path != key]
    for text in (ended.out.encode(), ended.err.encode(), *written):
        assert str(identity).encode() not in text


def test_a_key_of_another_log_is_not_said(tmp_path: Path) -> None:
    document = json.loads(KEYRING.read_text("utf-8"))
    for element in document["elements"]:
        element["data"] = "5a" * (len(element["data"]) // 2)
    (tmp_path / "keyring").write_text(json.dumps(document))
    ended = binx("ls", "--keyring", tmp_path / "keyring", LOG, env={"BINX_TRACEBACK": "1"})
    assert ended.code == 1
    assert "5a5a" not in (ended.out + ended.err).lower()
    assert "ZZZZ" not in (ended.out + ended.err)


@pytest.mark.parametrize("option", ["keyring", "key-file"])
def test_keys_may_be_set_for_all_commands_in_the_file_of_defaults(option: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(key_of(LOG).hex())
    config = tmp_path / "config.toml"
    config.write_text(f'{option} = "{KEYRING if option == "keyring" else tmp_path / "key"}"\n')
    ended = binx("ls", LOG, env={"BINX_CONFIG": str(config)})
    assert (ended.code, ended.err) == (0, "")
    assert ended.lines


def test_an_index_file_that_is_not_encrypted_as_its_log_is_is_reported(tmp_path: Path) -> None:
    """An index in the clear beside an encrypted log tells GTIDs, times and names of tables."""
    plain = TESTDATA / "mysql-9.7" / "small" / "tagged_gtids.binlog"
    written = binx("index", "--keyring", KEYRING, "-o", tmp_path, LOG, plain)
    assert written.code == 0
    assert "GTIDs, times and table names of 1 encrypted log" in written.err
    runs: list[list[str | Path]] = [["--keyring", KEYRING, LOG], ["--force", plain]]
    for arguments in runs:
        assert binx("index", "-o", tmp_path, *arguments).err == ""
    assert binx("index", "--quiet", "--force", "--keyring", KEYRING, "-o", tmp_path, LOG).err == ""


@pytest.mark.parametrize("form", ["binlog", "sql"])
def test_files_that_are_not_read_and_the_one_that_ends_the_search(
    shop: Shop, tmp_path: Path, form: str
) -> None:
    told = ("--verbose", "--format", form, "--gtid", shop.demo["gtid"], "-o", tmp_path / "one")
    lines = binx("extract", *told, *shop.logs).err.splitlines()
    wanted = shop.folder / shop.demo["file"]
    assert f"binx: {shop.logs[0]}: opened, {shop.logs[0].stat().st_size:,} bytes, written by 9.7" in lines[0]
    assert any(
        line.startswith(f"binx: {wanted}: ") and line.endswith(" 1 selected; everything requested is found")
        for line in lines
    )
    assert len(lines) == len(set(lines))
    later = [log for log in shop.logs if log > wanted]
    assert later
    assert not [line for line in lines if str(later[0]) in line and "transactions read" in line]
    if form == "binlog":
        assert f"binx: {shop.logs[0]}: not read: ruled out by GTIDs" in "\n".join(lines)


def test_index_files_that_are_used(shop: Shop, tmp_path: Path) -> None:
    logs = [shutil.copy(log, tmp_path) for log in shop.logs]
    assert binx("index", *logs).code == 0
    told = binx("why", "-v", "--table", "shop.orders", "--pk", "9007199254740992", *logs).err
    assert f"binx: {logs[0]}: its index file is used: {logs[0]}.binx" in told


def test_steps_leave_data_alone_and_are_not_reported_unasked(shop: Shop) -> None:
    plain, verbose = binx("ls", shop.logs[0]), binx("ls", "-v", shop.logs[0])
    assert plain.out == verbose.out
    assert plain.err == ""
    assert binx("ls", shop.logs[0], env={"BINX_VERBOSE": "1"}).err == verbose.err
