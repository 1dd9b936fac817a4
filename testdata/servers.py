"""Private MySQL and MariaDB servers: started in a folder, reached through a socket, stopped at the end.

    with MySQLServer(folder) as server:
        server.sql("CREATE DATABASE shop")
        server.query("SELECT 1, NULL")          # [("1", None)]

Several may run at once. They listen on no network, keep their data in the folder that they are given, and
log with `ROW` format and GTIDs unless told otherwise.
"""

from __future__ import annotations

import atexit
import getpass
import re
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import pymysql
from pymysql.constants import CLIENT
from pymysql.cursors import Cursor

from testdata.programs import Programs, need_mariadb, need_mysql, need_mysql56

START_SECONDS = 600
STOP_SECONDS = 600
MOST_OF_A_STATEMENT = 1000
GONE = (2002, 2006, 2013)
"""Numbers of the client's errors that tell that it has no server."""


class ServerError(RuntimeError):
    """A server did not start, or a program that talks to it failed; the message is the program's own."""


class Server(ABC):
    """One running server with a data folder of its own.

    Args:
        folder: where it keeps its data; made if it is not there, and used again if it is.
        options: options of the server program that every start uses, such as ``--binlog-format=STATEMENT``.
        programs: the installation to use; found on this machine when not given.
    """

    daemon: str
    client: str
    binlog_reader: str
    dumper: str
    reset_binlogs: str

    def __init__(self, folder: Path, options: Sequence[str] = (), programs: Programs | None = None) -> None:
        self.folder = folder.resolve()
        self.options = tuple(options)
        self.programs = programs or self.need_programs()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket_folder: Path | None = None

    @staticmethod
    @abstractmethod
    def need_programs() -> Programs:
        """The installation on this machine; raises `MissingServerError` where there is none."""

    def _command(self, program: str) -> list[str]:
        """The words that start a program of the server."""
        return self.programs.command(program)

    @abstractmethod
    def _folder_options(self) -> list[str]:
        """The server's options about folders."""

    @property
    def _base(self) -> Path | None:
        """The folder of an unpacked installation that has ``bin`` and ``share``."""
        root = self.programs.root
        return root / "usr" if root is not None and (root / "usr").exists() else root

    def _base_options(self, shared: str) -> list[str]:
        """Options that name the folders of an unpacked installation; its files are in ``share/shared``."""
        base = self._base
        if base is None:
            return []
        options = [f"--basedir={base}"]
        if (base / "share" / shared / "charsets").exists():
            options += [f"--character-sets-dir={base}/share/{shared}/charsets"]
            options += [f"--lc-messages-dir={base}/share/{shared}", f"--plugin-dir={base}/lib/mysql/plugin"]
        return options

    @abstractmethod
    def _log_options(self) -> list[str]:
        """The server's options that make it write the binary log that tests expect."""

    @abstractmethod
    def initialize(self) -> None:
        """Make the system tables in an empty data folder."""

    @property
    def version(self) -> str:
        """The server's version, three numbers."""
        return self.programs.version

    @property
    def binlog_folder(self) -> Path:
        """The folder that the server writes its binary logs into."""
        return self.folder / "data"

    @property
    def _error_log(self) -> Path:
        return self.folder / "error.log"

    @property
    def _socket(self) -> Path:
        if self._socket_folder is None:
            raise ServerError(f"{self.daemon} is not running")
        return self._socket_folder / "sock"

    def start(self, options: Sequence[str] = ()) -> None:
        """Start the server and wait until it answers.

        Args:
            options: further options of the server program for this start only.

        Raises:
            ServerError: it stopped, or did not answer in time; the message ends with its error log.
        """
        if self._process is not None:
            raise ServerError(f"{self.daemon} is running already")
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.binlog_folder / "mysql").exists():
            # Most of what an empty data folder has are zeros.
            made = _initialized(type(self), self.programs)
            subprocess.run(["cp", "-r", "--sparse=always", made, self.binlog_folder], check=True)
        # A socket's path may have 107 bytes at most, which a test's folder can exceed.
        self._socket_folder = Path(tempfile.mkdtemp(prefix="binx-"))
        command = [*self.programs.command(self.daemon), *self._folder_options(), f"--socket={self._socket}"]
        command += ["--skip-networking", "--default-time-zone=+00:00", *self._log_options()]
        command += [*self.options, *options]
        with (self.folder / "output.log").open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        try:
            self._wait_for_answer(self._process)
        except BaseException:
            self.stop()
            raise

    def _wait_for_answer(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            if self._socket.exists():
                try:
                    self.sql("SELECT 1")
                except ServerError:
                    pass
                else:
                    return
            time.sleep(0.1)
        tail = self._error_log.read_text(errors="replace")[-2000:] if self._error_log.exists() else ""
        raise ServerError(f"{self.daemon} did not start:\n{tail}")

    def stop(self) -> None:
        """Shut the server down in good order; a server that is not running stays so."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._socket_folder is not None:
            shutil.rmtree(self._socket_folder, ignore_errors=True)
            self._socket_folder = None

    def kill(self) -> None:
        """End the server as a power failure does, but that the system's memory stays."""
        if self._process is not None:
            self._process.kill()
        self.stop()

    @property
    def socket(self) -> Path:
        """The Unix socket that the running server listens on."""
        return self._socket

    def __enter__(self) -> Self:
        """Start the server."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server."""
        self.stop()

    def sql(self, text: str, db: str | None = None) -> str:
        """Run statements in one session.

        Args:
            text: statements between semicolons.
            db: the database to begin in.

        Returns:
            Their rows, a line each, with tabs between the values.

        Raises:
            ServerError: a statement failed; the ones before it have been run.
        """
        lines = []
        try:
            with self._session(db) as connection, connection.cursor() as cursor:
                cursor.execute(text.strip().rstrip(";"))
                while True:
                    lines += ["\t".join(_printed(value) for value in row) for row in cursor.fetchall()]
                    if not cursor.nextset():
                        break
        except pymysql.MySQLError as error:
            raise ServerError(f"{text[:MOST_OF_A_STATEMENT]} failed: {error}") from error
        return "".join(f"{line}\n" for line in lines)

    def script(self, text: str | bytes, db: str | None = None, *, folder: Path | None = None) -> str:
        """Have the client program run a script, as a person does.

        Args:
            text: what it takes on its standard input, ``DELIMITER`` and comments included.
            db: the database to begin in.
            folder: its working folder, which ``LOAD DATA LOCAL`` names files from.

        Returns:
            The batch output: tab-separated, without column names.

        Raises:
            ServerError: a statement failed; the ones before it have been run.
        """
        command = [*self.client_command(), "--batch", "--skip-column-names", *([db] if db else [])]
        printed = _output(command, text.encode() if isinstance(text, str) else text, folder)
        return printed.decode(errors="backslashreplace")

    def attempt(self, text: bytes, folder: Path | None = None) -> list[str]:
        """Run statements in one session, going on behind those that fail.

        Args:
            text: statements as the client program takes them, comments included.
            folder: the client's working folder, which ``LOAD DATA LOCAL`` names files from.

        Returns:
            What the client said of each statement that failed.

        Raises:
            ServerError: the server is gone.
        """
        command = [*self.client_command(), "--batch", "--comments", "--force"]
        done = subprocess.run(command, input=text, capture_output=True, cwd=folder, check=False)
        errors = [
            line for line in done.stderr.decode(errors="replace").splitlines() if line.startswith("ERROR")
        ]
        if any(f"ERROR {number}" in error for error in errors for number in GONE):
            raise ServerError("\n".join(errors))
        return errors

    def query(self, statement: str, db: str | None = None) -> list[tuple[str | None, ...]]:
        """The rows of a query as text, with None for NULL.

        Values must be text; ask for ``HEX(column)`` of binary ones.

        Raises:
            ServerError: the statement failed.
        """
        try:
            with self._session(db) as connection, connection.cursor() as cursor:
                cursor.execute(statement)
                return [tuple(_text(value) for value in row) for row in cursor.fetchall()]
        except pymysql.MySQLError as error:
            raise ServerError(f"{statement[:MOST_OF_A_STATEMENT]} failed: {error}") from error

    def _session(self, db: str | None) -> pymysql.Connection[Cursor]:
        return pymysql.connect(
            unix_socket=str(self._socket),
            user="root",
            database=db,
            charset="utf8mb4",
            autocommit=None,
            ssl_disabled=True,
            client_flag=CLIENT.MULTI_STATEMENTS,
            conv={},
        )

    def mysqlbinlog(self, *arguments: str | Path) -> bytes:
        """Run the server's own reader of binary logs on files; the server need not be running.

        Raises:
            ServerError: it failed.
        """
        command = [*self._command(self.binlog_reader), "--no-defaults", *self._reader_options()]
        return _output([*command, *(str(argument) for argument in arguments)])

    def dump(self, *arguments: str) -> bytes:
        """Run the server's own dump program.

        Raises:
            ServerError: it failed.
        """
        command = [*self._command(self.dumper), "--no-defaults", "--user=root"]
        return _output([*command, f"--socket={self._socket}", *self._reader_options(), *arguments])

    def _reader_options(self) -> list[str]:
        return []

    def binlogs(self) -> list[Path]:
        """The binary logs that the server's index file lists, oldest first."""
        names = (self.binlog_folder / "mysql-bin.index").read_text().split()
        return [self.binlog_folder / Path(name).name for name in names]

    def flush_logs(self) -> None:
        """Close the current binary log and begin the next one."""
        self.sql("FLUSH BINARY LOGS")

    def reset(self) -> None:
        """Delete all binary logs and forget all GTIDs."""
        self.sql(self.reset_binlogs)

    def client_command(self) -> list[str]:
        """The words that start the client program as the server's administrator."""
        command = [*self._command(self.client), "--no-defaults", "--user=root"]
        command.append(f"--socket={self._socket}")
        return [*command, "--default-character-set=utf8mb4", "--local-infile=1", "--binary-mode"]


class MySQLServer(Server):
    """A MySQL server; see `Server`."""

    daemon = "mysqld"
    client = "mysql"
    binlog_reader = "mysqlbinlog"
    dumper = "mysqldump"
    reset_binlogs = "RESET BINARY LOGS AND GTIDS"

    @staticmethod
    def need_programs() -> Programs:
        """The installation on this machine; raises `MissingServerError` where there is none."""
        return need_mysql()

    def _folder_options(self) -> list[str]:
        options = ["--no-defaults", f"--datadir={self.binlog_folder}", f"--log-error={self._error_log}"]
        options += [f"--pid-file={self.folder / 'pid'}", f"--user={getpass.getuser()}", "--secure-file-priv="]
        return [*options, *self._base_options("mysql")]

    def _log_options(self) -> list[str]:
        options = ["--log-bin=mysql-bin", "--server-id=97", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
        options += [
            "--sync-binlog=0",
            "--innodb-flush-log-at-trx-commit=0",
            "--local-infile=ON",
            "--mysqlx=OFF",
            # It takes all of a processor from when a shutdown begins until the last session has ended.
            "--event-scheduler=OFF",
        ]
        return options

    def initialize(self) -> None:
        """Make the system tables in an empty data folder."""
        _output([*self.programs.command(self.daemon), *self._folder_options(), "--initialize-insecure"])

    def _reader_options(self) -> list[str]:
        base = self._base
        charsets = base / "share" / "mysql" / "charsets" if base is not None else None
        return [f"--character-sets-dir={charsets}"] if charsets is not None and charsets.exists() else []


_OF_LATER_VERSIONS = re.compile(rb"^/\*!8\d{4} .*\n", re.MULTILINE)


class MySQL56Server(MySQLServer):
    """MySQL 5.6, with MariaDB's client, as MySQL's no longer logs in there, and with MySQL's newer reader."""

    client = "mariadb"
    reset_binlogs = "RESET MASTER"

    @staticmethod
    def need_programs() -> Programs:
        """The installation on this machine; raises `MissingServerError` where there is none."""
        need_mysql()
        need_mariadb()
        return need_mysql56()

    def _command(self, program: str) -> list[str]:
        others = {self.client: need_mariadb, self.binlog_reader: need_mysql}
        return others.get(program, lambda: self.programs)().command(program)

    def mysqlbinlog(self, *arguments: str | Path) -> bytes:
        """Run the reader; what is for later versions is left out, as 5.6 takes it for an empty statement."""
        return _OF_LATER_VERSIONS.sub(b"", super().mysqlbinlog(*arguments))

    def _log_options(self) -> list[str]:
        options = [f"--tmpdir={self.folder}", "--log-bin=mysql-bin", "--server-id=56", "--binlog-format=ROW"]
        options += ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-slave-updates"]
        return [*options, "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0", "--local-infile=ON"]

    def initialize(self) -> None:
        """Copy the system tables that come with it."""
        assert self.programs.root is not None
        shutil.copytree(self.programs.root / "data", self.binlog_folder)

    def _reader_options(self) -> list[str]:
        return []


_SYSTEM_SCRIPTS = ("system_tables", "performance_tables", "system_tables_data", "sys_schema")


class MariaDBServer(Server):
    """A MariaDB server; see `Server`."""

    daemon = "mariadbd"
    client = "mariadb"
    binlog_reader = "mariadb-binlog"
    dumper = "mariadb-dump"
    reset_binlogs = "RESET MASTER"

    @staticmethod
    def need_programs() -> Programs:
        """The installation on this machine; raises `MissingServerError` where there is none."""
        return need_mariadb()

    def _folder_options(self) -> list[str]:
        options = ["--no-defaults", f"--datadir={self.binlog_folder}", f"--log-error={self._error_log}"]
        # In a folder of all servers, each that starts removes the temporary tables of the others.
        options += [
            f"--tmpdir={self.folder}",
            f"--pid-file={self.folder / 'pid'}",
            f"--user={getpass.getuser()}",
        ]
        return [*options, *self._base_options("mariadb")]

    def _log_options(self) -> list[str]:
        options = ["--log-bin=mysql-bin", "--server-id=10", "--binlog-format=ROW", "--binlog-checksum=CRC32"]
        options.append("--character-set-server=utf8mb4")
        return [*options, "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0", "--local-infile=ON"]

    def initialize(self) -> None:
        """Make the system tables in an empty data folder."""
        if self._base is not None:
            self._bootstrap(self._base / "share" / "mariadb")
            return
        command = [*self.programs.command("mariadb-install-db"), "--no-defaults", "--skip-test-db"]
        command += [
            f"--datadir={self.binlog_folder}",
            f"--tmpdir={self.folder}",
            f"--user={getpass.getuser()}",
        ]
        _output([*command, "--auth-root-authentication-method=normal"])

    def _bootstrap(self, scripts: Path) -> None:
        """Do what mariadb-install-db does, which finds no programs of an unpacked installation."""
        (self.binlog_folder / "mysql").mkdir(parents=True)
        begin = "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n"
        parts = [(scripts / f"mariadb_{name}.sql").read_text() for name in _SYSTEM_SCRIPTS]
        text = "".join([begin, "SET @skip_auth_anonymous=1;\n", *parts])
        command = [*self.programs.command(self.daemon), *self._folder_options(), "--bootstrap"]
        _output([*command, "--enforce-storage-engine=", "--max-allowed-packet=8M"], text.encode())


@cache
def _initialized(kind: type[Server], programs: Programs) -> Path:
    """A data folder with the system tables alone, which is made once and copied for each server."""
    folder = Path(tempfile.mkdtemp(prefix="binx-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = kind(folder, programs=programs)
    server.initialize()
    # Each server gives itself an identity.
    (server.binlog_folder / "auto.cnf").unlink(missing_ok=True)
    return server.binlog_folder


def _printed(value: str | bytes | None) -> str:
    return "NULL" if value is None else str(_text(value))


def _text(value: str | bytes | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


def _output(command: list[str], text: bytes = b"", folder: Path | None = None) -> bytes:
    done = subprocess.run(command, input=text, capture_output=True, cwd=folder, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise ServerError(f"{' '.join(command[-3:])} failed: {said[-3000:]}")
    return done.stdout
