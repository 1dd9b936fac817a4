"""What binx makes of a file, in one line: read or refused, and what is in it.

``python -m tests.corpus.observing`` writes ``observed.tsv`` again from the corpus of foreign binary logs; a
message stays as short as it was where it is still a part of the error's.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from binx.errors import BinxError, ChecksumError, EncryptedError
from binx.event.format import FormatDescription
from binx.event.header import EventFlag, EventHeader, EventType, event_name
from binx.event.table_map import parse_table_map
from binx.kernels.walk.scan import Level
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.source.keyring import given_keys
from tests.conftest import CORPUS

OBSERVED = Path(__file__).resolve().parent / "observed.tsv"

READ, UNCHECKED, STOPPED, REFUSED = "read", "read with --no-checksums", "stopped", "refused"
WITH_KEYRING = "read with --keyring"


@dataclass(frozen=True, slots=True)
class Observation:
    """One file."""

    file: str
    server: str = ""
    outcome: str = READ
    message: str = ""
    transactions: int = 0
    rows: int = 0
    events: str = ""
    columns: str = ""


def observe(path: Path) -> Observation:
    """Read a whole file, with its checksums and, where they are wrong, without.

    What is encrypted is read with the keyrings beside the corpus.
    """
    try:
        with BinlogFile.open(str(path)) as file:
            server = file.format.server_version
            try:
                return _read(file, READ)
            except ChecksumError as error:
                unchecked = _read(file, UNCHECKED)
                return Observation(**{**asdict(unchecked), "message": error.message})
            except BinxError as error:
                return Observation(path.name, server, STOPPED, error.message)
    except EncryptedError as error:
        try:
            return replace(_read_with_keyrings(path), message=error.message)
        except EncryptedError:
            return Observation(path.name, outcome=REFUSED, message=error.message)
    except BinxError as error:
        return Observation(path.name, outcome=REFUSED, message=error.message)


def _read_with_keyrings(path: Path) -> Observation:
    keyrings = given_keys([str(one) for one in sorted((path.parent.parent / "keyrings").iterdir())])
    with BinlogFile.open(str(path), keyrings) as file:
        return _read(file, WITH_KEYRING)


def _read(file: BinlogFile, outcome: str) -> Observation:
    scan = Scan(file, Level.LEVEL_TABLES, verify=outcome != UNCHECKED)
    decoder = ChangeDecoder(file, Catalog())
    transactions = rows = 0
    for table in scan:
        transactions += len(table)
        items = [*decoder.decode(table, table.mask()), *decoder.flush()]
        rows += sum(item.batch.num_rows for item in items if isinstance(item, ChangeBatch))
    rows += sum(batch.batch.num_rows for batch in decoder.finish())
    totals = scan.totals()
    events = Counter(totals.events) + Counter(totals.inner)
    return Observation(
        file=file.name,
        server=file.format.server_version,
        outcome=outcome,
        transactions=transactions,
        rows=rows,
        events=",".join(f"{event_name(number)}:{count}" for number, count in sorted(events.items()) if count),
        columns=",".join(sorted(_column_types(scan, file.format))),
    )


def _column_types(scan: Scan, description: FormatDescription) -> set[str]:
    """The types of all columns in the table maps that a scan has met."""
    wide = description.post_header_length(EventType.TABLE_MAP, 8) != 6
    found = set()
    for _, rest in scan.table_maps():
        body = memoryview(bytes(8 if wide else 6) + rest)
        header = EventHeader(
            timestamp=0,
            type=EventType.TABLE_MAP,
            server_id=0,
            size=len(body),
            next_position=0,
            flags=EventFlag(0),
            position=0,
        )
        found |= {column.type.name for column in parse_table_map(body, header, description).columns}
    return found


def load_observations() -> list[Observation]:
    """The lines of ``observed.tsv``."""
    with OBSERVED.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return [
            Observation(
                **{**row, "transactions": int(row["transactions"]), "rows": int(row["rows"])}  # type: ignore[arg-type]
            )
            for row in rows
        ]


def main() -> None:
    """Observe every file of the corpus."""
    known = {one.file: one.message for one in load_observations()} if OBSERVED.exists() else {}
    with OBSERVED.open("w", encoding="utf-8", newline="") as target:
        names = [field.name for field in fields(Observation)]
        writer = csv.DictWriter(target, names, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        for path in sorted((CORPUS / "files").iterdir()):
            line = asdict(observe(path))
            if known.get(path.name, "\0") in line["message"]:
                line["message"] = known[path.name]
            writer.writerow(line)


if __name__ == "__main__":
    main()
