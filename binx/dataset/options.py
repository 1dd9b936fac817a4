"""How a data set is written."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from binx.log.scanning import OnDamage
from binx.rows.decoder import DecoderOptions

if TYPE_CHECKING:
    from binx.dataset.personal.rules import PersonalData
    from binx.where.condition import Condition

MEMORY_BYTES = 64 * 1024 * 1024
"""What the rows of a log may take before those of the largest tables are written."""

DEFAULT_ZSTD_LEVEL = 1
"""Level 3 takes a quarter to a third longer for files that are 6 % smaller at best."""


class StatementTexts(Enum):
    """What a data set keeps of the texts that rows were logged with, in which there are values of rows."""

    NONE = "none"
    DIGEST = "digest"
    """Their normal form, without values."""
    TEXT = "text"


class ParquetOptions(NamedTuple):
    """How a data set is written.

    Attributes:
        compression_level: of zstd; None for :data:`DEFAULT_ZSTD_LEVEL`.
        jobs: how many logs are decoded at the same time; with more than one, files are written beside the
            decoding too. None for as many as there are processors, but two at most, as each log takes memory.
            What is written is the same.
        where: a condition; only row changes that fulfil it are written, and the transactions that have some.
        where_limit: how many transactions have some, at most.
    """

    compression: str = "zstd"
    compression_level: int | None = None
    decoder: DecoderOptions = DecoderOptions(memory=MEMORY_BYTES)
    verify: bool = True
    force: bool = False
    jobs: int | None = None
    on_damage: OnDamage = OnDamage.STOP
    where: Condition | None = None
    where_limit: int | None = None
    personal: PersonalData | None = None
    statements: StatementTexts = StatementTexts.NONE

    def facts(self) -> dict[str, Any]:
        """What of it decides the bytes written, for the manifest."""
        salvages = self.on_damage is OnDamage.SALVAGE
        return {
            **({"on_damage": self.on_damage.value} if salvages else {}),
            **({} if self.where is None else {"where": self.where.text, "limit": self.where_limit}),
            **({} if self.personal is None else self.personal.facts()),
            **({} if self.statements is StatementTexts.NONE else {"statements": self.statements.value}),
            "compression": self.compression,
            "compression_level": self.level,
            "row_group_rows": self.decoder.row_group_rows,
            "memory": self.decoder.memory,
            "unsigned_bigint": "decimal" if self.decoder.arrow.unsigned_as_decimal else "uint64",
        }

    @property
    def level(self) -> int | None:
        """The compression level; None where there is none to choose."""
        if self.compression != "zstd":
            return None
        return DEFAULT_ZSTD_LEVEL if self.compression_level is None else self.compression_level

    @property
    def jobs_here(self) -> int:
        """How many logs this machine decodes at the same time."""
        return self.jobs or min(_DEFAULT_JOBS, usable_processors())


_DEFAULT_JOBS = 2


def usable_processors() -> int:
    """How many processors this process may run on."""
    # Only Linux and its like tell what this process may use; elsewhere all of them count.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
