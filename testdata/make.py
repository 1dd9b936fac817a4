"""Make the test data again: `python testdata/make.py`.

Starts a MySQL and a MariaDB server in a temporary folder, lets them write the logs that the README beside
this file lists, and puts logs and answers in their place once all of a server's are there.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from testdata.expected import count_changes, write_json, write_tables
from testdata.programs import MissingServerError, find_mysql, install_mariadb, install_mysql, install_mysql56
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError
from testdata.shop import Shop
from testdata.shop_tables import STATE_NOT_FROM_ROWS
from testdata.shop_traffic import Part
from testdata.small import record_small

HERE = Path(__file__).resolve().parent
FOLDERS = {
    "mysql": HERE / "mysql-9.7",
    "mariadb": HERE / "mariadb-10.11",
    "newer-mariadb": HERE / "mariadb-11.8",  # only what it logs in another way
}
ZERO_DATES = "--sql-mode=NO_ENGINE_SUBSTITUTION"
SHOP_OPTIONS = {"mysql": [ZERO_DATES, "--binlog-row-metadata=FULL"], "mariadb": [ZERO_DATES]}
SMALL_OPTIONS = {"mysql": [], "mariadb": ["--read-buffer-size=8192"]}  # the size of LOAD DATA's blocks
IN_USE = """CREATE DATABASE live; USE live;
CREATE TABLE ticks (id INT PRIMARY KEY, text VARCHAR(20));
INSERT INTO ticks VALUES (1, 'one');
BEGIN; INSERT INTO ticks VALUES (2, 'two'); UPDATE ticks SET text = 'zwei' WHERE id = 2; COMMIT;
DELETE FROM ticks WHERE id = 1;
"""


def main() -> int:
    """Run the recipe; returns the exit code."""
    parser = argparse.ArgumentParser(description="Make the test data again with real servers.")
    parser.add_argument("--install", action="store_true", help="only unpack MySQL into the user's cache")
    parser.add_argument(
        "--install-mariadb",
        action="store_true",
        help="only unpack a newer MariaDB there, and print the folder",
    )
    parser.add_argument("--install-mysql-5.6", action="store_true", help="only unpack MySQL 5.6 there")
    parser.add_argument("--only", choices=sorted(FOLDERS), help="make one server's part")
    arguments = parser.parse_args()
    # A stop by `kill` unwinds like Ctrl-C, so that no server is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if arguments.install:
            print(install_mysql().version)
            return 0
        if getattr(arguments, "install_mysql_5.6"):
            print(install_mysql56().version)
            return 0
        if arguments.install_mariadb:
            print(install_mariadb().root)
            return 0
        for name in [arguments.only] if arguments.only else list(FOLDERS):
            with tempfile.TemporaryDirectory(prefix="binx-testdata-") as folder:
                make(name, Path(folder))
    except (MissingServerError, ServerError) as error:
        print(f"make.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("make.py: interrupted; the test data is as it was", file=sys.stderr)
        return 130
    return 0


def make(name: str, work: Path) -> None:
    """Make one server's part in a working folder, then replace what is in the project by it."""
    made = work / "made"
    if name in SHOP_OPTIONS:
        make_shop(name, work / "shop", made / "shop")
    make_small(name, work / "small", made)
    target = FOLDERS[name]
    for path in made.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for part in sorted(path.name for path in made.iterdir()):
        if part == "small":
            shutil.copytree(made / part, target / part, dirs_exist_ok=True)
        else:
            shutil.rmtree(target / part, ignore_errors=True)
            shutil.copytree(made / part, target / part)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target.name}: {size:,} bytes", file=sys.stderr)


def new_server(name: str, folder: Path, options: list[str]) -> Server:
    """A server that is not started yet; one that this machine does not have is unpacked first."""
    if name == "mariadb":
        return MariaDBServer(folder, options)
    if name == "newer-mariadb":
        return MariaDBServer(folder, options, install_mariadb())
    return MySQLServer(folder, options, find_mysql() or install_mysql())


def make_shop(name: str, work: Path, made: Path) -> None:
    """The shop's chain of logs, a log a chapter, and what the server said at the end."""
    server = new_server(name, work, SHOP_OPTIONS[name])
    with server:
        server.reset()
        chapters = list(Shop(mariadb=name == "mariadb").chapters())
        demo = None
        for number, parts in enumerate(chapters, 1):
            for part in parts:
                if part.marked:
                    demo = run_marked(server, part)
                else:
                    server.script(part.sql, None if "CREATE DATABASE shop " in part.sql else "shop")
            if number < len(chapters):
                server.flush_logs()
        write_tables(server, made / "expected", STATE_NOT_FROM_ROWS)
    for file in server.binlogs():
        shutil.copy(file, made)
    (made / "mysql-bin.index").write_text("".join(f"./{file.name}\n" for file in server.binlogs()))
    write_json(made / "expected" / "files.json", {"files": count_changes(server, server.binlogs())})
    if demo is not None:
        write_json(made / "demo.json", demo)


def run_marked(server: Server, part: Part) -> dict[str, object]:
    """Run the demo's transaction between two looks at the log, and say what must be found in it."""
    mariadb = server.daemon == "mariadbd"
    status = "SHOW MASTER STATUS" if mariadb else "SHOW BINARY LOG STATUS"
    file, start = server.query(status)[0][:2]
    before = "" if mariadb else "SET @before = @@GLOBAL.gtid_executed;\n"
    gtid = "@@last_gtid" if mariadb else "GTID_SUBTRACT(@@GLOBAL.gtid_executed, @before)"
    said = server.script(f"{before}{part.sql}SELECT {gtid};\n", "shop").strip()
    end = server.query(status)[0][1]
    tables = {
        "shop.orders": {"inserts": 1, "updates": 1, "deletes": 0},
        "shop.order_items": {"inserts": 3, "updates": 0, "deletes": 1},
        "shop.products": {"inserts": 0, "updates": 3, "deletes": 0},
        "shop.payments": {"inserts": 1, "updates": 0, "deletes": 0},
        "shop.audit_log": {"inserts": 1, "updates": 0, "deletes": 0},
    }
    return {"gtid": said, "file": file, "start": int(start or 0), "end": int(end or 0), "tables": tables}


def make_small(name: str, work: Path, made: Path) -> None:
    """The logs with one purpose each, and the copy of a log that its server has open."""
    with new_server(name, work, SMALL_OPTIONS.get(name, [])) as server:
        if name in SHOP_OPTIONS:
            server.reset()
            server.sql(IN_USE)
            (made / "in-use").mkdir(parents=True)
            shutil.copy(server.binlogs()[-1], made / "in-use")
            server.sql("DROP DATABASE live")
        record_small(server, FOLDERS[name] / "small", made / "small")


if __name__ == "__main__":
    sys.exit(main())
