"""Options of mysqlbinlog and mariadb-binlog that no command has, and what to use instead."""

from __future__ import annotations

_PULL = "binx pull mysql://USER@HOST:PORT copies logs from a server"

INSTEAD = {
    name: instead
    for instead, names in {
        _PULL: "-R --read-from-remote-server --read-from-remote-master --read-from-remote-source --raw"
        " -t --to-last-log --stop-never --stop-never-slave-server-id --connection-server-id"
        " --host -P --port -S -u --protocol --bind-address --plugin-dir --default-auth"
        " -C --compress --compression-algorithms --zstd-compression-level",
        f"{_PULL}, with the password of --ask-password, MYSQL_PWD or an option file": "-p --password"
        " --login-path --no-login-paths",
        f"{_PULL}, with TLS as --tls, --tls-ca, --tls-cert and --tls-key say": "--ssl --skip-ssl --ssl-mode"
        " --ssl-ca --ssl-capath --ssl-cert --ssl-cipher --ssl-key --ssl-crl --ssl-crlpath --ssl-fips-mode"
        " --ssl-fp --ssl-fplist --ssl-session-data --ssl-session-data-continue-on-failed-reuse"
        " --ssl-verify-server-cert --tls-version --tls-ciphersuites --tls-sni-servername",
        f"{_PULL}, with the server's key as --server-public-key": "--get-server-public-key"
        " --server-public-key-path",
        "binx show prints row changes with their values": "--base64-output",
        "binx ls prints a line for each transaction": "-s --short-form",
        "binx show prints each event's offset, its rows, and the names of its table's columns":
            "--print-row-count --skip-print-row-count --print-row-event-positions"
            " --skip-print-row-event-positions --print-table-metadata",
        "only binx show and binx events print the statements that are logged with rows":
            "--skip-annotate-row-events",
        "run SET sql_log_bin = 0 before the SQL that binx extract writes": "-D --disable-log-bin",
        "give it to mysqlbinlog, with the log that binx extract writes": "-i --idempotent --skip-gtids",
        "the SQL that binx extract writes sets its character set": "--set-charset",
        "binx has the character sets of both servers": "--character-sets-dir",
        "binx extract copies events in the size that they have": "--binlog-row-event-max-size",
        "--on-damage salvage reads on after damage": "-f --force-read",
        "logs that their server has not closed are read as others are": "-F --force-if-open"
        " --skip-force-if-open",
        "checksums are verified, unless --no-checksums is given": "-c --verify-binlog-checksum",
        "binx verify names GTIDs that are missing": "--gtid-strict-mode --skip-gtid-strict-mode",
        "binx stats says where changes were logged as statements": "--require-row-format",
        "--start-position, --from-gtid and --limit choose a range of transactions": "--offset",
        "--server-id takes one server, and may be repeated": "--do-server-ids",
        "binx query \"SELECT gtid FROM transactions WHERE server_id <> 1\" finds what --gtid takes":
            "--ignore-server-ids",
        "binx query \"SELECT gtid FROM transactions WHERE gtid LIKE '0-%'\" finds what --gtid takes":
            "--do-domain-ids --ignore-domain-ids",
        "server ids are those that the log has": "--server-id-bits",
        "binx config shows defaults; BINX_CONFIG names their file": "--no-defaults --print-defaults"
        " --defaults-extra-file --defaults-group-suffix",
        "binx raises the limit of open files itself": "--open-files-limit",
        "--verbose reports what is done with each file": "-# --debug --debug-check --debug-info",
        "binx --version prints versions": "-V --version",
        "--help shows the options": "-?",
    }.items()
    for name in names.split()
}  # fmt: skip
