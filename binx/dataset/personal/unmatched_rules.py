"""Which rules and names of tables match in a log and in a data set: one that matches nothing may be wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from binx.dataset.dataset import DataSet
from binx.dataset.options import ParquetOptions
from binx.dataset.personal.rules import PersonalData
from binx.errors import BinxError, UnmatchedRuleError
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import find_transactions
from binx.log.selection.selection import Selection
from binx.log.selection.table_filter import SoughtNames, TableFilter
from binx.rows.ddl.catalog import Catalog
from binx.rows.reading import Reading, no_table
from binx.source.wording import did_you_mean


def unmatched_rules(dataset: DataSet, rules: PersonalData) -> list[str]:
    """Return the names in rules without wildcards that no committed log of a data set has, sorted.

    Raises:
        OutputError: a manifest cannot be read.
    """
    return sorted(rules.exact_names() - _matched(dataset))


def _matched(dataset: DataSet) -> set[str]:
    return {name for manifest in dataset.manifests() for name in manifest.get("rules_matched", ())}


def unmatched(dataset: DataSet, selection: Selection, options: ParquetOptions) -> list[str]:
    """Return a sentence for each rule, and each name of a table, that matches nothing in a data set.

    Names with wildcards may match nothing.

    Raises:
        OutputError: a manifest cannot be read.
    """
    rules = options.personal
    names = [] if rules is None or options.allows_unmatched_rules else unmatched_rules(dataset, rules)
    return [
        *(
            f"the rule {name} matches no column in the data set: if it is wrong, personal data was"
            " written; otherwise give --allow-unmatched-rules"
            for name in names
        ),
        *_unmatched_tables(dataset, selection),
    ]


def _unmatched_tables(dataset: DataSet, selection: Selection) -> list[str]:
    """Return a sentence for each database and table that is named exactly and is in none of the logs."""
    tables = (*selection.tables, *selection.exclude_tables)
    if not selection.databases and not tables:
        return []
    sought = SoughtNames(selection.databases, tables)
    # With excluded tables alone, statements pass whatever they name.
    by_name = bool(selection.databases or selection.tables)
    for manifest in dataset.manifests():
        for counts in manifest.get("conservation", ()):
            sought.see(counts["db"], counts["table"])
        for file in manifest["files"]:
            if by_name and file["kind"] == "statements" and file["rows"]:
                _see_statements(dataset, file["path"], sought)
    return sought.sentences("the logs of the data set")


def _see_statements(dataset: DataSet, path: str, sought: SoughtNames) -> None:
    """Take notice of the tables that a file's statements tell, and of all that the text of others may name.

    Ends of XA transactions name no table, and pass whatever the names are; nor does CREATE DATABASE.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = dataset.store.read(path)
    if data is None:
        return
    # A process that ends while Arrow's threads are at work may abort.
    file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
    for row in file.read(["kind", "db", "sql", "effects"], use_threads=False).to_pylist():
        for effect in row["effects"]:
            for name in ((effect["db"], effect["table"]), (effect["new_db"], effect["new_table"])):
                if None not in name:
                    sought.see(*name)
        if row["kind"] != "other" and not _makes_database(row["effects"]):
            sought.see_statements(partial(_takes, row["sql"], row["db"]))


def _takes(sql: str | None, db: str, one: TableFilter) -> bool:
    """Return whether a filter takes a statement; one whose text was masked may have named anything."""
    return sql is None or one.takes_text(sql, db)


def _makes_database(effects: Sequence[dict[str, Any]]) -> bool:
    return [(effect["action"], effect["table"]) for effect in effects] == [("created", None)]


def check_tables(
    dataset: DataSet, files: Sequence[BinlogFile], catalog: Catalog | None, options: ParquetOptions
) -> None:
    """Check, before anything is written, that the table of each rule without wildcards is in the logs.

    Rules that matched in the data set are not looked for. The logs are read up to where all tables were seen.

    Args:
        files: the logs to export, in chain order.
        catalog: the tables known before them.

    Raises:
        UnmatchedRuleError: neither the logs nor the catalog nor the data set have a rule's table.
        OutputError: a manifest cannot be read.
    """
    rules = options.personal
    if rules is None or options.allows_unmatched_rules:
        return
    known = Catalog() if catalog is None else catalog.copy()
    tables = dict.fromkeys((table.db, table.name) for table in known)
    unseen = set(unmatched_rules(dataset, rules))
    unseen -= _names_of(rules, tables)
    reading = Reading(known, no_table)
    for file in files if unseen else ():
        scan = find_transactions(file, Level.LEVEL_TABLES, verify=False)
        try:
            for table in scan:
                reading.follow(file, table)
                names = [scan.table_name(number) for number in range(scan.table_count)]
                names += [(definition.db, definition.name) for definition in known]
                tables |= dict.fromkeys(names)
                unseen -= _names_of(rules, names)
                if not unseen:
                    return
        except BinxError:
            # The export reports it, and the rules are checked again as its logs are committed.
            return
    if unseen:
        known_names = [f"{db}.{name}" for db, name in tables]
        rule = min(unseen)
        near = did_you_mean(rule.partition(":")[0].rpartition(".")[0], known_names) or "."
        raise UnmatchedRuleError(
            f"there is no table for the rule {', '.join(sorted(unseen))}, neither in the logs nor in the data"
            f" set{near} Nothing is written. Correct the rule, or give --allow-unmatched-rules"
        )


def _names_of(rules: PersonalData, tables: Iterable[tuple[str, str]]) -> set[str]:
    """Return the names in the rules for tables."""
    found = [rules.of_table(db, name) for db, name in tables]
    return {rule.names for table_rules in found if table_rules for rule, _ in table_rules.rules}


def check_rules(dataset: DataSet, options: ParquetOptions, manifest: dict[str, Any], path: str) -> None:
    """Check, before a log is committed, that no table with a rule came without what the rule is about.

    That is its column, or a part of documents.

    Args:
        manifest: the log's manifest.
        path: the log.

    Raises:
        UnmatchedRuleError: one did, and no earlier log of the data set has it either.
        OutputError: a manifest cannot be read.
    """
    columns, parts = (manifest.get(f"rules_without_{what}", ()) for what in ("column", "part"))
    if options.personal is None or options.allows_unmatched_rules or not (columns or parts):
        return
    matched = _matched(dataset)
    end = " The log is not committed. Correct the rule, or give --allow-unmatched-rules"
    if unmatched := sorted(set(columns) - matched):
        near = did_you_mean(unmatched[0], manifest["rules_meant"].values()) or "."
        raise UnmatchedRuleError(
            f"there is no column for the rule {', '.join(unmatched)}: its table has rows in the log,"
            f" and no such column{near}{end}",
            path=path,
        )
    if unmatched := sorted(set(parts) - matched):
        raise UnmatchedRuleError(
            f"no document has the part of the rule {', '.join(unmatched)}.{end}", path=path
        )
