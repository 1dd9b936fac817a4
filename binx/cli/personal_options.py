"""The options that say which data is personal."""

from __future__ import annotations

from binx.cli.command import PATH, combined, flag, option, parsed
from binx.dataset.personal.rules import parse_rule

PERSONAL_OPTIONS = combined(
    option(
        "--drop-columns DB.TABLE.COLUMN[:PATH]",
        "dropped",
        multiple=True,
        type=parsed(parse_rule),
        help="Leave out personal data: a column or a part of its documents; * and ? match. May be repeated.",
    ),
    option(
        "--hash-columns DB.TABLE.COLUMN[:PATH]",
        "hashed",
        multiple=True,
        type=parsed(parse_rule),
        help="Write HMAC-SHA-256 hashes instead of values. May be repeated.",
    ),
    option(
        "--hash-key FILE",
        type=PATH,
        help="File with the secret key of the hashes: its bytes as they are, without line ends at the end.",
    ),
    flag(
        "--allow-unmatched-rules",
        "Export although a rule about personal data, without * and ?, matches no column.",
    ),
)
"""Rules about personal data: ``dropped``, ``hashed``, ``hash_key`` and ``allow_unmatched_rules``."""
