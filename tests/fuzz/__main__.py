"""``python -m tests.fuzz TARGET``: one target, guided by coverage of Python and of kernels built for it.

New inputs stay in ``.fuzz/TARGET``, or in a folder that ``--corpus`` names; what is found is written to
``found`` beside it. An input may take two minutes, as others work on the machine too, and the process 2 GB
(the sanitizers take their part of that).
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["binx"]):
    from tests.fuzz.targets import LOGS, TARGETS, tried

from tests.fuzz.mutating import changed_log
from tests.fuzz.seeds import SEEDS, largest

HOME = Path(__file__).resolve().parents[2] / ".fuzz"
SECONDS = 60
INPUT_SECONDS = 120
MEMORY_MB = 2048


def main() -> None:
    """Write the seeds, and run until the time is over or something is found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=list(TARGETS))
    parser.add_argument("--seconds", type=int, default=SECONDS, help="how long (60)")
    parser.add_argument("--corpus", type=Path, default=HOME, help="where inputs are kept (.fuzz)")
    arguments = parser.parse_args()
    corpus, found = arguments.corpus / arguments.target, arguments.corpus / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    for seed in SEEDS[arguments.target]():
        (corpus / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    target = TARGETS[arguments.target]
    options = [
        f"-max_total_time={arguments.seconds}",
        f"-timeout={INPUT_SECONDS}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={largest(arguments.target)}",
        f"-artifact_prefix={found}/{arguments.target}-",
        "-print_final_stats=1",
        str(corpus),
    ]
    changes = {"custom_mutator": _changed} if arguments.target in LOGS else {}
    # What is imported stays: it need not be gone through again each time that garbage is collected.
    gc.freeze()
    atheris.Setup([sys.argv[0], *options], lambda data: tried(target, data), **changes)
    atheris.Fuzz()


def _changed(data: bytes, most: int, seed: int) -> bytes:
    return changed_log(data, most, seed, atheris.Mutate)


if __name__ == "__main__":
    main()
