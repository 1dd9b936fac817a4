"""A chain of logs walked over: what those who decode one must know of the logs before it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

from binx.export.sharing import Place
from binx.kernels.scan import Level
from binx.log.file import BinlogFile
from binx.log.on_damage import OnDamage
from binx.rows.catalog import Catalog
from binx.rows.following import pass_over


def places_behind(files: Sequence[BinlogFile], catalog: Catalog, epoch: int, seqno: int) -> Iterator[Place]:
    """Where in the chain the log behind each log stands.

    Only headers of events and statements are looked at.

    Args:
        files: the logs, in the order of their chain.
        catalog: the tables known before; it is moved on.
        epoch: logs of the chain before that a server began at its start.
        seqno: number of the first transaction.

    Raises:
        BinxError: a log cannot be read; what decodes it may tell more.
    """
    for file in files:
        epoch += file.format.at_startup
        scan = file.scan(Level.LEVEL_EVENTS, verify=False, on_damage=OnDamage.STOP)
        seqno += pass_over(scan, catalog)
        yield Place(epoch, seqno, pickle.dumps(catalog))


__all__ = ["places_behind"]
