"""The records of reports: which names each has, and where it occurs.

A record's names stand in the order in which JSON has them. ``?`` marks those that may be null, ``*`` those
that may be left out, and ``=`` the record of which an object, or each object of a list, is.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from typing import Final, NamedTuple

_ENTRY = re.compile(r"(?P<name>\w+)(?P<marks>[?*]*)(?:=(?P<record>\w+))?")


class Member(NamedTuple):
    """A name in a record.

    Attributes:
        record: the record of which the object, or each object of the list, is; empty for others.
    """

    name: str
    can_be_null: bool
    can_be_absent: bool
    record: str


class JsonRecord:
    """A record of reports.

    Attributes:
        where: what prints it; empty for parts of other records.
        note: what its names mean here beyond the vocabulary.
    """

    def __init__(self, name: str, where: str, names: str, note: str = "") -> None:
        self.name = name
        self.where = where
        self.note = note
        self._names = names

    @cached_property
    def members(self) -> dict[str, Member]:
        """Its names, in order."""
        found = map(_ENTRY.fullmatch, self._names.split())
        members = [
            Member(entry["name"], "?" in entry["marks"], "*" in entry["marks"], entry["record"] or "")
            for entry in found
            if entry is not None
        ]
        return {member.name: member for member in members}


_TRANSACTION = """
    commit_version transaction gtid? xid? server_id epoch seqno? kind how file start end bytes
    uncompressed_bytes? commit_timestamp commit_time_source original_commit_timestamp? begin_timestamp?
    last_committed? sequence_number? thread_id? events? rows? statements?
"""
_CHANGE = "db table type row statement before*=row after*=row json_diff*=row"
_CHANGES = "inserts updates deletes"
_FILE_BYTES = "header_bytes transaction_bytes unfinished_bytes damaged_bytes"
_KINDS = (
    "`kind`: `dml`, `ddl`, `xa_prepare`, `xa_commit`, `xa_rollback`, `rollback`, `empty`, `incident`,"
    " `other`."
)

_RECORDS = (
    JsonRecord(
        "transaction",
        "`ls`, a line each; with `--columns` these alone. The data set's `transactions/`",
        f"{_TRANSACTION} tables?=table_changes",
        f"{_KINDS} `duration` is a column of `ls --columns` too.",
    ),
    JsonRecord("table_changes", "", f"db table {_CHANGES}"),
    JsonRecord(
        "extracted_transaction",
        "`extract --format json`, a line each",
        f"{_TRANSACTION} tables=table_changes changes=change sql_statements=statement",
        _KINDS,
    ),
    JsonRecord("change", "", _CHANGE, "An insert has no `before`, a delete no `after`."),
    JsonRecord(
        "extracted_change",
        "`extract --format json --rows`, a line each",
        f"transaction commit_version commit_timestamp {_CHANGE}",
    ),
    JsonRecord(
        "statement",
        "",
        "ordinal position event_timestamp kind db sql sql_is_text options=by_name insert_id? last_insert_id?"
        " rand_seeds? user_vars=by_name thread_id? exec_time? error_code",
        "As in the data set's `statements/`. `kind`: `ddl`, `dml`, `other`, or `rows` for the text that row"
        " changes were logged with.",
    ),
    JsonRecord(
        "row_history",
        "`why`, a line each",
        f"transaction commit_version commit_timestamp {_CHANGE.replace('row statement', 'row* statement*')}"
        " file start server_id thread_id? sql? moved uncertain restored_by? create_table*?",
        "A statement on the table has no `row`, `statement` and images. `create_table` is there with"
        " `--create-table`; of a statement it is what that made of the table.",
    ),
    JsonRecord(
        "event_of_transaction",
        "`show`, a line each",
        "file start transaction position inner? event_type bytes server_id event_timestamp flags "
        "fields=by_name"
        " rows* tables_then*=table_then changes*=change hex*",
        "Rows events have `rows` and `changes`; `hex` is there with `--hex`, and with `--create-table`"
        " `tables_then`, of table maps with rows and of statements that define tables.",
    ),
    JsonRecord("table_then", "", "db table create_table?"),
    JsonRecord(
        "event",
        "`events`, a line each",
        "file position inner? event_type bytes next_position server_id event_timestamp flags checksum start?"
        " transaction? gtid? expected",
        "`start` is that of the event's transaction, null in no transaction or if it begins in another log.",
    ),
    JsonRecord(
        "index",
        "`index`, a line per log",
        "path index_path state transactions? index_bytes? unfinished_bytes? error?",
        "`state`: `written`, `true` (it was there, and is right), `absent`, `stale`, `damaged`.",
    ),
    JsonRecord("verification", "`verify`", "ok checksums files=verified_file problems=problem notes"),
    JsonRecord(
        "verified_file",
        "",
        "path file bytes server_version? server_id? checksum_algorithm? relay_log in_use ending next_file?"
        f" transactions by_length events gtid_set previous_gtids? {_FILE_BYTES}",
        "The last four add up to `bytes`.",
    ),
    JsonRecord(
        "problem",
        "",
        "kind path start? end? gtid? transactions message meaning action",
        "`kind`: `not_a_binlog`, `format`, `encrypted`, `checksum`, `structure`, `cut`, "
        "`unknown_event`, `length`,"
        " `position`, `clock`, `behind_the_end`, `incident`, `duplicate_gtid`, `lost_gtids`, `unknown_gtids`,"
        " `missing_file`, `not_closed`, `repeated`, `unlogged_changes`.",
    ),
    JsonRecord(
        "statistics",
        "`stats`; `binx.Figures`",
        "files=file_figures transactions events? bytes first?=point last?=point tables?=table_figures"
        " kinds=kind_figures largest=ranked_transaction longest=ranked_transaction histogram?=histogram"
        " warnings=warning quick complete rows? statements? ddl? ddl_statements?=ddl_statement"
        " servers=server_figures threads=thread_figures threads_complete sizes=size_figures"
        " event_types?=event_figures compression=compression checksummed_bytes gtid_set? missing_gtids"
        " servers_complete tables_complete databases?=database_figures bursts=burst selection=by_name"
        " selected_bytes absent_gtids notes breakdown?=breakdown",
    ),
    JsonRecord(
        "file_figures",
        "",
        "path file bytes server_version flavour server_id create_timestamp at_startup epoch "
        "checksum_algorithm"
        f" in_use ending next_file? transactions events? first?=point last?=point gtid_set? previous_gtids?"
        f" {_FILE_BYTES} error?",
    ),
    JsonRecord("point", "", "transaction commit_timestamp file start"),
    JsonRecord("table_figures", "", f"db table {_CHANGES} bytes"),
    JsonRecord("database_figures", "", f"db table_count {_CHANGES} bytes"),
    JsonRecord("kind_figures", "", "kind transactions bytes rows?"),
    JsonRecord("server_figures", "", "server_id transactions bytes rows?"),
    JsonRecord("thread_figures", "", "server_id thread_id transactions bytes rows?"),
    JsonRecord("size_figures", "", "from_bytes below_bytes transactions bytes"),
    JsonRecord("event_figures", "", "event_type events bytes compressed_events"),
    JsonRecord("ranked_transaction", "", f"{_TRANSACTION} tables?=table_changes duration?"),
    JsonRecord("histogram", "", "bucket_seconds buckets=bucket"),
    JsonRecord("bucket", "", "since transactions bytes rows?"),
    JsonRecord("burst", "", "since until transactions bytes times_usual"),
    JsonRecord(
        "warning",
        "",
        "kind message count action",
        "[Statistics](statistics.md#warnings) explains each `kind`.",
    ),
    JsonRecord("ddl_statement", "", "transaction commit_timestamp file start db sql"),
    JsonRecord("compression", "", "transactions bytes uncompressed_bytes ratio?"),
    JsonRecord("breakdown", "", "by groups=group complete"),
    JsonRecord(
        "group",
        "",
        "db* table* server_id* thread_id*? gtid_source*? digest_text*? digest*? kind* from_bytes* "
        "below_bytes*"
        " file* minute* hour* day* transactions bytes rows? inserts? updates? deletes?"
        " statements* seconds*?",
        "The keys are those of `--by`; `--csv` has the same names.",
    ),
    JsonRecord(
        "exported_log",
        "`to-parquet`, a line per log, and `base`, per backup",
        "source path state transactions rows parquet_files parquet_bytes gtid_set losses notes",
        "`state`: `written` or `kept` (it was there).",
    ),
    JsonRecord(
        "archived_log",
        "`archive`, a line per log",
        "path state archived_as* bytes* stored_bytes* transactions* gtid_set* sha256* findings* damage*"
        " recipients* source* rows* losses* error* problems*=problem",
        "`state`: `archived`, `damaged`, `kept damaged`, `failed`, `tables written`, `pruned`, `expired`,"
        " `purgeable`; with `--dry-run` `would archive`, `would prune`, `would expire`.",
    ),
    JsonRecord(
        "listed_log",
        "`archive --list`, a line per log",
        "path state archived_as bytes stored_bytes transactions gtid_set sha256 findings damage* recipients*"
        " server_id server_version first_commit_timestamp? last_commit_timestamp? previous_gtids?",
    ),
    JsonRecord(
        "archive_run",
        "`archive`, the last line",
        "run held archived remaining open damaged failed finding_count exported loss_count pruned "
        "purge? seconds",
    ),
    JsonRecord(
        "archive_check",
        "`archive --check`",
        "check logs bytes stored_bytes transactions encrypted gtid_set missing_gtids problems=archive_problem"
        " notes tail?=tail_log",
    ),
    JsonRecord(
        "archive_problem",
        "",
        "kind path message gtid?",
        "`kind`: those between logs of `verify`, and `manifest`, `manifest_missing`, `object_missing`,"
        " `object_changed`, `damaged`, `not_archived`, `overlap`.",
    ),
    JsonRecord("tail_log", "", "path closed bytes gtid_set"),
    JsonRecord(
        "restored",
        "`archive --restore`",
        "output bytes transactions archived_as* sha256* absent_gtids*",
        "A log has `archived_as` and `sha256`, selected transactions `absent_gtids`.",
    ),
    JsonRecord(
        "plan",
        "`plan`; with `--execute` the first line",
        "covered reasons missing_files missing_gtids backup=backup target=target first?=place last?=place"
        " next?=place files=planned_file transactions bytes gtid_set held_gtids notes commands=by_name",
    ),
    JsonRecord(
        "replayed", "`plan --execute`, the last line", "complete transactions seconds gtid_set own_gtids"
    ),
    JsonRecord("backup", "", "file? position? gtid_set noted_in?"),
    JsonRecord("target", "", "kind until? gtid_set", "`kind`: `end`, `time`, `gtids`, `before`."),
    JsonRecord("place", "", "file position gtid? commit_timestamp", "`position` of the last one is its end."),
    JsonRecord("planned_file", "", "path file start end transactions"),
    JsonRecord(
        "comparison",
        "`diff`",
        "equal left=side right=side only_left=lacking only_right=lacking common_transactions in_no_log=gtids"
        " compared different=gtids differences=difference logged_otherwise=gtids logged_as_statements=gtids"
        " not_compared=table_name",
    ),
    JsonRecord("side", "", "logs gtid_set previous_gtids transactions anonymous_transactions"),
    JsonRecord("gtids", "", "gtid_set transactions"),
    JsonRecord("lacking", "", "gtid_set transactions errant_gtids perhaps_purged_gtids statement_gtids"),
    JsonRecord("table_name", "", "db table"),
    JsonRecord("difference", "", "gtid changes=pair"),
    JsonRecord("pair", "", "left?=shown_change right?=shown_change"),
    JsonRecord(
        "shown_change",
        "",
        "db table* type* row* statement* before*=row after*=row json_diff*=row sql*",
        "A row change, or a statement: `db` and `sql`.",
    ),
    JsonRecord(
        "pull_status",
        "`pull --status`",
        "running server* file* position* gtid*? commit_timestamp*? lag_seconds*? lag_bytes*? received_bytes*"
        " seconds* closed_logs* reconnects* semi_sync* acknowledged*?=pulled_place archive_failures* updated*"
        " error*? chains=pulled_chain",
    ),
    JsonRecord("pulled_place", "", "file position"),
    JsonRecord(
        "pulled_chain",
        "",
        "folder first_file flavour server_uuid server_id server_version begun missing_gtids",
    ),
    JsonRecord(
        "load",
        "`load`",
        "output load changed manifests new_manifests tables=loaded_table losses losses_seen at exit_code",
    ),
    JsonRecord(
        "loaded_table",
        "",
        f"db table listed loaded {_CHANGES} current? completeness reasons accepted error?",
    ),
    JsonRecord(
        "load_status",
        "`load --status`",
        "output load changed manifests new_manifests loaded_until? behind_seconds tables=table_status losses"
        " losses_seen at data_sets=loaded_data_set exit_code",
    ),
    JsonRecord(
        "table_status",
        "",
        f"db table listed loaded {_CHANGES} current? completeness reasons accepted error? loaded_until?"
        " waiting_rows waiting_since? behind_seconds unknown_rows current_files current_bytes history_files"
        " history_bytes version_files version_bytes",
    ),
    JsonRecord("loaded_data_set", "", "data_set manifests new_manifests data_set_until? error?"),
    JsonRecord("state", "`state`", "db table at rows complete reasons key output format exit_code"),
    JsonRecord("erased", "`erase`", "keys history current scd2"),
    JsonRecord("config", "`config`", "path? exists settings=setting"),
    JsonRecord("setting", "", "command option value=value origin"),
    JsonRecord("row", "", "", "Values by column, as `extract --format json` writes them."),
    JsonRecord("by_name", "", "", "Values by name."),
    JsonRecord("value", "", "", "Text, a number, true or false, or a list of these."),
)

RECORDS: Final = {record.name: record for record in _RECORDS}
"""All records by name; ``row``, ``by_name`` and ``value`` have no names of their own."""


@cache
def names_of(record: str) -> tuple[str, ...]:
    """Return the names of a record, in order."""
    return tuple(RECORDS[record].members)
