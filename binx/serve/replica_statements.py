"""The statements that replicas, and readers of logs over a connection, send before they ask for a dump.

Sources: MySQL's sql/rpl_replica.cc (``get_master_version_and_clock``, ``get_source_uuid``) and
client/mysqlbinlog.cc, MariaDB's sql/slave.cc and client/mysqlbinlog.cc.
"""

from __future__ import annotations

import re
from time import time

from binx.event.gtid.domains import domain_positions
from binx.serve.channel import Channel
from binx.serve.offer import Offer

_ASSIGNMENT = re.compile(r"@(\w+)\s*:?=\s*('(?:[^'\\]|\\.|'')*'|[^,;]+)", re.IGNORECASE)
_SELECTED = re.compile(r"\s*(.+?)(?:\s+AS\s+`?(\w+)`?)?\s*(?:,|$)", re.IGNORECASE | re.DOTALL)
_SYSTEM = re.compile(r"@@(?:global\.|session\.|local\.)?(\w+)", re.IGNORECASE)
_SHOWN = re.compile(r"SHOW\s+(?:GLOBAL\s+|SESSION\s+)?VARIABLES\s+LIKE\s+'([^']*)'", re.IGNORECASE)
_SYNTAX = (1064, "42000")
_UNKNOWN = (1193, "HY000")


class Session:
    """What a client has said of itself, and the answers to its statements.

    Attributes:
        variables: the user variables that it has set, in lower case; texts without quotes.
    """

    def __init__(self, offer: Offer) -> None:
        self.variables: dict[str, str] = {}
        self._offer = offer
        self._system = _variables(offer)

    def variable(self, *names: str) -> str | None:
        """Return the first of some user variables that is set."""
        return next((self.variables[name] for name in names if name in self.variables), None)

    def answer(self, statement: str, channel: Channel) -> None:
        """Answer a statement; what is neither known nor harmless is an error as servers say it."""
        text = re.sub(r"/\*.*?\*/", "", statement, flags=re.DOTALL).strip().rstrip(";").strip()
        word = text.split(None, 1)[0].upper() if text else ""
        if word in ("SET", "USE", "COMMIT", "ROLLBACK"):
            self._take_settings(text)
            channel.send_ok()
        elif word == "SELECT":
            self._answer_select(text[len(word) :].strip(), channel)
        elif word == "SHOW":
            self._answer_show(" ".join(text.split()), channel)
        else:
            channel.send_error(
                *_SYNTAX, f"binx serve offers logs to replicas and runs no statements: {text[:80]}"
            )

    def _take_settings(self, text: str) -> None:
        for name, value in _ASSIGNMENT.findall(text):
            self.variables[name.lower()] = self._value(value.strip()) or ""

    def _value(self, text: str) -> str | None:
        if text.startswith("'"):
            return re.sub(r"\\(.)|''", lambda match: match[1] or "'", text[1:-1])
        if match := _SYSTEM.fullmatch(text):
            return self._system.get(match[1].lower())
        if text.startswith("@"):
            return self.variables.get(text[1:].lower())
        return text

    def _answer_select(self, text: str, channel: Channel) -> None:
        names: list[str] = []
        values: list[str | None] = []
        for match in _SELECTED.finditer(text):
            expression = match[1]
            names.append(match[2] or expression)
            if expression.upper() == "UNIX_TIMESTAMP()":
                values.append(str(int(time())))
            elif expression.upper() == "VERSION()":
                values.append(self._system["version"])
            elif system := _SYSTEM.fullmatch(expression):
                if system[1].lower() not in self._system:
                    channel.send_error(*_UNKNOWN, f"Unknown system variable '{system[1]}'")
                    return
                values.append(self._system[system[1].lower()])
            elif re.fullmatch(r"@\w+|\d+", expression):
                values.append(self._value(expression))
            else:
                channel.send_error(*_SYNTAX, f"binx serve does not know the expression {expression[:80]}")
                return
        channel.send_rows(names, [values])

    def _answer_show(self, text: str, channel: Channel) -> None:
        offer = self._offer
        if match := _SHOWN.fullmatch(text):
            pattern = re.escape(match[1].replace("\\_", "_")).replace("%", ".*")
            rows = [
                (name, value)
                for name, value in self._system.items()
                if re.fullmatch(pattern, name, re.IGNORECASE)
            ]
            channel.send_rows(("Variable_name", "Value"), rows)
        elif text.upper() in ("SHOW BINARY LOGS", "SHOW MASTER LOGS"):
            rows = [(log.name, str(log.size)) for log in offer.logs[:-1]]
            rows.append((offer.logs[-1].name, str(offer.end.offset)))
            channel.send_rows(("Log_name", "File_size"), rows)
        elif text.upper() in ("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"):
            columns = ("File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set")
            channel.send_rows(
                columns, [(offer.logs[-1].name, str(offer.end.offset), "", "", str(offer.gtids))]
            )
        elif text.upper() == "SHOW WARNINGS":
            channel.send_rows(("Level", "Code", "Message"), [])
        else:
            channel.send_error(*_SYNTAX, f"binx serve does not know the statement {text[:80]}")


def _variables(offer: Offer) -> dict[str, str]:
    description = offer.description
    variables = {
        "version": description.server_version,
        "version_comment": "binx serve",
        "server_id": str(description.server_id),
        "log_bin": "1",
        "binlog_checksum": offer.checksum,
        "binlog_format": "ROW",
        "max_allowed_packet": str(1 << 30),
        "net_write_timeout": "60",
        "wait_timeout": "28800",
        "character_set_server": "utf8mb4",
        "collation_server": "utf8mb4_general_ci",
        "time_zone": "SYSTEM",
        "lower_case_table_names": "0",
    }
    if not offer.is_mariadb:
        return variables | {
            "server_uuid": offer.server_uuid,
            "gtid_mode": offer.gtid_mode,
            "gtid_executed": str(offer.gtids),
            "gtid_purged": str(offer.purged),
        }
    position = domain_positions(offer.gtids)
    return variables | {
        "gtid_domain_id": "0",
        "gtid_binlog_pos": position,
        "gtid_current_pos": position,
        "gtid_binlog_state": position,
    }
