"""Positions in MariaDB's logs: the last GTID of each domain, which stands for all before it.

Source: MariaDB knowledge base, "Global Transaction ID".
"""

from __future__ import annotations

from collections.abc import Iterable

from binx.event.gtid.sources import DomainSource, GtidSource


def last_of_domains(gtids: Iterable[tuple[GtidSource, int, int]]) -> dict[int, tuple[int, int]]:
    """Return for each MariaDB domain the highest number, and the server that gave it."""
    last: dict[int, tuple[int, int]] = {}
    for source, _, number in gtids:
        if isinstance(source, DomainSource) and number > last.get(source.domain, (0, 0))[0]:
            last[source.domain] = number, source.server_id
    return last


def domain_positions(gtids: Iterable[tuple[GtidSource, int, int]]) -> str:
    """Return the last GTID of each MariaDB domain, as ``gtid_slave_pos`` has them."""
    last = last_of_domains(gtids)
    return ",".join(f"{domain}-{server}-{number}" for domain, (number, server) in sorted(last.items()))
