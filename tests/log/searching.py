"""Searches through the shop's logs, as a command would make them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from binx.kernels.walk.scan import Level
from binx.log.chain.ends import read_ends
from binx.log.file import BinlogFile
from binx.log.selection.selection import Selection, Selector, required_level
from tests.conftest import PROJECT

TESTDATA = PROJECT / "testdata"
SHOPS = {
    name: sorted((TESTDATA / name / "shop").glob("mysql-bin.0*")) for name in ("mysql-9.7", "mariadb-10.11")
}
SMALL = TESTDATA / "mysql-9.7/small"


@dataclass
class Found:
    """What a search took: name of the file, start, end and GTID; and how far it went."""

    transactions: list[tuple[str, int, int, str | None]]
    selector: Selector
    searched: list[str]

    @property
    def gtids(self) -> list[str | None]:
        return [gtid for _, _, _, gtid in self.transactions]


def search(selection: Selection, paths: list[Path], *, level: Level | None = None) -> Found:
    found = Found([], Selector(selection, [path.name for path in paths]), [])
    for path in paths:
        with BinlogFile.open(str(path)) as file:
            if found.selector.rules_out(file, read_ends(file).previous_gtids):
                continue
            found.searched.append(file.name)
            scan = file.scan(required_level(selection) if level is None else level)
            for table in scan:
                for index in table.marked(found.selector.mask(file, scan, table)):
                    found.transactions.append(
                        (file.name, table.value("start", index), table.value("end", index), table.gtid(index))
                    )
                if found.selector.complete:
                    return found
    return found


def demo(server: str) -> dict[str, str | int]:
    wanted: dict[str, str | int] = json.loads((TESTDATA / server / "shop" / "demo.json").read_text())
    return wanted


def gtid_of(server: str, number: int) -> str:
    """The GTID of one of the shop's transactions."""
    return f"{str(demo(server)['gtid']).rpartition(':' if server.startswith('mysql') else '-')[0]}" + (
        f":{number}" if server.startswith("mysql") else f"-{number}"
    )
