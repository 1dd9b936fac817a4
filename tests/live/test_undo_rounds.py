"""Random rounds of undo: afterwards each row is as it was before, or is listed as not undone."""

from __future__ import annotations

import os
import random

from testdata.servers import Server
from tests.live.undo_round import UndoRound

ROUNDS = int(os.environ.get("ROUNDS") or "3")


def test_each_row_is_as_it_was_or_listed(server: Server) -> None:
    base = os.environ.get("SEED") or str(random.SystemRandom().getrandbits(32))
    for number in range(ROUNDS):
        played = UndoRound(server, f"{base}-{number}")
        try:
            outcome = played.play()
        except Exception as error:
            error.add_note(f"SEED={base}, round {number}")
            raise
        print(f"{base}-{number}: {outcome}")
