"""Rules for personal data: which columns and parts of JSON documents to drop or hash."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from operator import xor
from pathlib import Path
from typing import Any, NamedTuple

from binx.dataset.personal.documents import Path as JsonPath
from binx.dataset.personal.documents import path_of
from binx.errors import UsageError

_COPY = re.compile(r"_+(?P<name>.+)_(?:gho|ghc|del|new|old)")
"""Names that gh-ost and pt-online-schema-change give to copies of the table they alter."""

_WILDCARDS = frozenset("*?[")

_LEAST_KEY = 16
_FINGERPRINT = 16
_TAG = 32


class Rule(NamedTuple):
    """The values that a rule applies to.

    Attributes:
        db: database pattern, in lower case; ``*`` and ``?`` match.
        table: table pattern.
        column: column pattern.
        path: path within the column's documents; empty for the whole column.
        text: the rule as given.
    """

    db: str
    table: str
    column: str
    path: JsonPath
    text: str

    @property
    def names(self) -> str:
        """The names of database, table and column, in lower case."""
        return f"{self.db}.{self.table}.{self.column}"

    @property
    def part(self) -> str:
        """The names and the path within documents; empty for the whole column."""
        return f"{self.names}:{self.text.partition(':')[2].strip()}" if self.path else ""

    def is_of_table(self, name: str) -> bool:
        """Whether the rule applies to a table name in lower case: the table's own or that of a copy."""
        copied = _COPY.fullmatch(name)
        return fnmatchcase(name, self.table) or (
            copied is not None and fnmatchcase(copied["name"], self.table)
        )


def parse_rule(text: str) -> Rule:
    """Parse a rule ``DB.TABLE.COLUMN`` or ``DB.TABLE.COLUMN:PATH``.

    Raises:
        ValueError: it has another form.
    """
    names, colon, path = text.partition(":")
    parts = names.lower().split(".")
    legs = path_of(path.strip()) if colon else ()
    if len(parts) != 3 or not all(parts) or legs is None or (colon and not legs):
        raise ValueError(f"expected DB.TABLE.COLUMN or DB.TABLE.COLUMN:$.PATH, found {text!r}")
    db, table, column = parts
    return Rule(db, table, column, legs, text)


class Masking(NamedTuple):
    """How a column's values are masked.

    Attributes:
        drops: whether the column is dropped.
        hashes: whether its values are hashed.
        paths: otherwise, the parts of its documents, each with whether it is hashed (else dropped).
        rules: the rules of these parts.
    """

    drops: bool = False
    hashes: bool = False
    paths: tuple[tuple[JsonPath, bool], ...] = ()
    rules: tuple[Rule, ...] = ()


class TableRules(NamedTuple):
    """The rules for one table, each with whether it hashes."""

    rules: tuple[tuple[Rule, bool], ...]

    def of_column(self, column: str) -> list[tuple[Rule, bool]]:
        """Return the rules for a column, each with whether it hashes."""
        return [(rule, hashes) for rule, hashes in self.rules if fnmatchcase(column.lower(), rule.column)]

    def masking(self, column: str) -> Masking | None:
        """Return how a column is masked; None if it is unchanged."""
        matches = self.of_column(column)
        whole_column = [hashes for rule, hashes in matches if not rule.path]
        if whole_column:
            return Masking(drops=not all(whole_column), hashes=all(whole_column))
        paths = tuple((rule.path, hashes) for rule, hashes in matches)
        return Masking(paths=paths, rules=tuple(rule for rule, _ in matches)) if paths else None

    def alike(self) -> set[tuple[str, JsonPath, bool]]:
        """Return a value that is equal for tables with the same rules."""
        return {(rule.column, rule.path, hashes) for rule, hashes in self.rules}


class PersonalData(NamedTuple):
    """The rules of an export.

    Attributes:
        hashed: values to replace by their HMAC-SHA-256 in 64 hexadecimal digits; equal values have equal
            hashes everywhere.
        key: the HMAC key.
    """

    dropped: tuple[Rule, ...] = ()
    hashed: tuple[Rule, ...] = ()
    key: bytes = b""

    def of_table(self, db: str, name: str) -> TableRules | None:
        """Return the rules for a table, or None."""
        rules = [(rule, False) for rule in self.dropped] + [(rule, True) for rule in self.hashed]
        matches = [
            (rule, hashes)
            for rule, hashes in rules
            if fnmatchcase(db.lower(), rule.db) and rule.is_of_table(name.lower())
        ]
        return TableRules(tuple(matches)) if matches else None

    def exact_names(self) -> set[str]:
        """Return the names in rules without wildcards, which must match a column."""
        names = {rule.names for rule in (*self.dropped, *self.hashed)}
        return {name for name in names if _WILDCARDS.isdisjoint(name)}

    def exact_parts(self) -> set[str]:
        """Return the parts of documents in rules without wildcards, which documents must have."""
        parts = {rule.part for rule in (*self.dropped, *self.hashed) if None not in rule.path}
        return {part for part in parts if part and _WILDCARDS.isdisjoint(part.partition(":")[0])}

    def may_name_table(self, word: str) -> bool:
        """Whether a word of a statement, in lower case, may name a table with rules."""
        return any(rule.is_of_table(word) for rule in (*self.dropped, *self.hashed))

    def may_be_personal(self, columns: Iterable[str]) -> bool:
        """Whether any of the column names, in any table, may have personal data."""
        rules = (*self.dropped, *self.hashed)
        return any(fnmatchcase(name.lower(), rule.column) for name in columns for rule in rules)

    def hash(self, value: bytes | str) -> str:
        """Return the hash of a value."""
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return hmac.digest(self.key, data, "sha256").hex()

    def seal(self, text: str) -> str:
        """Encrypt a text with the key; equal texts give equal results."""
        data = text.encode()
        tag = hmac.digest(self.key, b"binx sealed text\0" + data, "sha256")
        return (tag + self._masked(data, tag)).hex()

    def unseal(self, sealed: str) -> str | None:
        """Decrypt a sealed text; None if it was sealed with another key."""
        data = bytes.fromhex(sealed)
        tag, masked = data[:_TAG], data[_TAG:]
        text = self._masked(masked, tag).decode("utf-8", "replace")
        return text if self.seal(text) == sealed else None

    def _masked(self, data: bytes, tag: bytes) -> bytes:
        """XOR the bytes with a stream derived from the key and the tag."""
        stream = hashlib.shake_256(self.key + tag).digest(len(data))
        return bytes(map(xor, data, stream))

    def facts(self) -> dict[str, Any]:
        """Return the rules and a fingerprint of the key, for the manifest."""
        key = hashlib.sha256(b"binx key fingerprint\0" + self.key).hexdigest()[:_FINGERPRINT]
        return {
            "drop_columns": sorted(rule.text for rule in self.dropped),
            "hash_columns": sorted(rule.text for rule in self.hashed),
            **({"hash_key": key} if self.hashed else {}),
        }


def personal_data(
    dropped: Iterable[Rule], hashed: Iterable[Rule], key_path: str | None
) -> PersonalData | None:
    """Return the rules given by options; None without any.

    Args:
        key_path: the file with the key; line ends after the key are ignored.

    Raises:
        UsageError: the key is missing, unreadable or too short.
    """
    rules = tuple(dropped), tuple(hashed)
    if not rules[1]:
        return PersonalData(*rules) if rules[0] else None
    if key_path is None:
        raise UsageError("--hash-columns needs --hash-key, a file with a secret key")
    try:
        key = Path(key_path).read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise UsageError(f"the key cannot be read: {error.strerror}", path=key_path) from error
    if len(key) < _LEAST_KEY:
        hint = f"found {len(key)}: `openssl rand -hex 32` gives one"
        raise UsageError(f"expected a key of {_LEAST_KEY} bytes or more, {hint}", path=key_path)
    return PersonalData(*rules, key)
