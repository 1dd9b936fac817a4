"""Slices: whole transactions of one or more files, written as a binary log.

A slice consists of the magic number, the source's FORMAT_DESCRIPTION with IN_USE cleared, an empty
PREVIOUS_GTIDS (MySQL) or GTID_LIST (MariaDB) if the source's server has that event, and the transactions.
Everything that depends on an event's file is rewritten: ``log_pos``, the checksum, and

* the logical clock of MySQL's GTID events, unless the slice is one contiguous run of one file. A replica's
  parallel applier expects ``sequence_number`` to increase within a file and ``last_committed`` to be less
  than it (MySQL's sql/rpl_mta_submode.cc, ``Mts_submode_logical_clock::schedule_next_event``). The clock is
  made serial: each transaction waits for the previous one, which is correct whatever was left out between
  them.
* the transaction length in MySQL's GTID events (WL#7319), if the transaction's size changes.

Events that describe only the source file (a relay log's ROTATE and second FORMAT_DESCRIPTION, checkpoints)
are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from binx.slices.renaming import SAME_NAMES, DatabaseNames
from binx.slices.search import Selected
from binx.slices.slice_plan import plan_slice
from binx.slices.slice_writer import SliceReport, SliceWriter
from binx.storage.output import Sink


def write_binlog(
    runs: Iterable[Selected],
    output: Sink,
    *,
    verbatim: bool = False,
    verify: bool = True,
    databases: DatabaseNames = SAME_NAMES,
) -> SliceReport:
    """Write transactions as a binary log.

    All runs are read before the first byte is written; their files must stay open until the end.

    Args:
        verbatim: copy magic, FORMAT_DESCRIPTION and transactions byte by byte; positions, checksums and
            logical clock stay those of the source.
        verify: verify the checksum of every event that is copied.
        databases: new names of databases; with these, compressed transactions are written uncompressed.

    Raises:
        AbsentError: the runs have no transactions.
        RefusedError: the formats of the transactions cannot be mixed in one file.
        DamagedError: a transaction violates its format, or a checksum differs.
        OutputError: the output cannot be written.
    """
    plan = plan_slice(runs, verbatim=verbatim)
    if databases:
        from binx.slices.renamed_binlog import RenamingWriter

        return RenamingWriter(plan, output, databases, verify=verify).write()
    return SliceWriter(plan, output, verbatim=verbatim, verify=verify).write()
