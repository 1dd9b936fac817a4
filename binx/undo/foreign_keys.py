"""Foreign keys of the tables in logs, and the values by which rows refer to one another.

Servers compare keys with the columns' collations, which may ignore case, accents and trailing spaces. The
collation decides which of these count, and it is often the server's default, which the log does not record.
Texts are therefore folded more coarsely than by any collation: texts that are equal in some collation have
the same fold.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from binx.event.rows import UNFOLLOWED
from binx.rows.columns.names import ResolvedColumn
from binx.rows.columns.schema import ColumnDefinition, ForeignKey, folded_name
from binx.rows.ddl.catalog import Catalog
from binx.rows.images import BatchImages, ChangePlace
from binx.slices.renaming import SAME_NAMES, DatabaseNames
from binx.slices.sql.compared_rows import BETWEEN, key_texts
from binx.source.wording import listed
from binx.sql.session import flagged_rows

_BYTES = re.compile("nopad_bin$|0900_bin$|^binary$")
_ALIKE = str.maketrans("ijyvw", "uuuuu", "e")
"""Letters that some languages treat as equal: i, j and y, u, v and w, ü and y, ä and ae."""

_VARIANT = re.compile(
    r"\b(?:SMALL|CAPITAL|FINAL|DOTLESS|TURNED|REVERSED|OPEN|LONG|SHARP|AFRICAN|INSULAR|TALL|VOLAPUK) "
    r"| (?:WITH|SIGN)\b.*"
)
_LATIN = re.compile(r"LATIN (?:LETTER )+([A-Z]{1,2})(?: DIGRAPH)?$")
_LATIN_NAMED = {
    "LATIN LETTER ETH": "d",
    "LATIN LETTER THORN": "th",
    "LATIN LETTER ENG": "n",
    "LATIN LIGATURE OE": "oe",
}
_REPEATED = re.compile(r"([^\W\d_])\1+")

_ASCII_ALIKE = str.maketrans("jyv", "iiu")
_OF_THESE = re.compile("roman|lithuanian|latvian|_l[atv]_|macce")
"""Collations in which some ASCII letters are equal: i and j, i and y, u and v."""


def may_be_equal(text: str, other: str, collation: str | None) -> bool:
    """Whether a collation may treat texts with the same fold as equal.

    Most keys are ASCII, where nearly all collations ignore only case.
    """
    if not (text + other).isascii() or (collation is not None and _OF_THESE.search(collation)):
        return True
    texts = ["".join(filter(str.isprintable, text)).casefold().rstrip(" ") for text in (text, other)]
    if collation is None:
        texts = [text.translate(_ASCII_ALIKE) for text in texts]
    return texts[0] == texts[1]


def fold(text: str, collation: str | None) -> str:
    """Return the fold of a text: the same for all texts that the collation may treat as equal.

    Args:
        collation: the column's collation; None if it is the character set's default or unknown.
    """
    if collation is not None and _BYTES.search(collation):
        return text
    if collation is not None and collation.endswith("_bin"):
        return text.rstrip(" ")
    if not text.isascii():
        # Strip marks first: case folding makes the iota subscript of Greek letters a letter of its own.
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(part for part in parts if unicodedata.category(part)[0] != "M").casefold()
        text = "".join(map(_without_variant, unicodedata.normalize("NFKD", text)))
    elif not text.isprintable():
        text = "".join(character for character in text if character.isprintable())
    return _REPEATED.sub(r"\1", text.casefold().translate(_ALIKE).rstrip(" "))


@cache
def _without_variant(character: str) -> str:
    """Return what represents a character's variants, by Unicode name; empty for marks and controls."""
    if character in "·\u0640" or unicodedata.category(character) in {"Mn", "Cc", "Cf"}:
        return ""
    if character.isascii():
        return character
    number = unicodedata.decimal(character, None)
    if number is not None:
        return str(number)
    name = _VARIANT.sub("", unicodedata.name(character, "")).replace("HIRAGANA", "KATAKANA")
    latin = _LATIN.match(name)
    if latin is not None:
        return latin[1]
    if name in _LATIN_NAMED:
        return _LATIN_NAMED[name]
    # Older Unicode collations do not know characters above U+FFFF, and treat them all as equal.
    if character > "\uffff":
        return "\ufffd"
    return character if name.startswith("CJK") else name or character


LISTED = 20
"""Maximum number of values and keys listed for rows that are not restored."""

CASCADE, CHANGES_NOTHING = "CASCADE", "RESTRICT"

NO_TEXT = "binary"
"""Collation and character set of values that are compared by their bytes."""

_TEXTS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})

Name = tuple[str, str]


class Child(NamedTuple):
    """A foreign key and the table that has it.

    Attributes:
        collations: the collations of its columns; ``binary`` if they are not text, None if unknown.
    """

    name: Name
    key: ForeignKey
    collations: tuple[str | None, ...]

    @property
    def parent(self) -> Name:
        """The referenced table."""
        return self.key.db, self.key.table

    @property
    def compares_bytes(self) -> bool:
        """Whether only identical values refer to one another."""
        return all(collation == NO_TEXT for collation in self.collations)

    def fold(self, value: str) -> str:
        """Return the fold of a value: the same for all values that the server may treat as equal."""
        if self.compares_bytes:
            return value
        parts = zip(value.split(BETWEEN), self.collations, strict=False)
        return BETWEEN.join(fold(part, collation) for part, collation in parts)

    def may_be_same(self, value: str, other: str) -> bool:
        """Whether the server may treat values with the same fold as equal."""
        parts = zip(value.split(BETWEEN), other.split(BETWEEN), self.collations, strict=False)
        return all(may_be_equal(*part) for part in parts)


class Ties(NamedTuple):
    """The foreign keys to and of a table, with the other table's name in a script."""

    to: Sequence[tuple[Name, Child]]
    of: Sequence[tuple[Name, Child]]


class Gone(NamedTuple):
    """A referenced row that was deleted or got other values.

    Attributes:
        now: its new value; None if that is NULL, or the row was deleted.
    """

    place: ChangePlace
    value: str
    now: str | None
    deleted: bool


class ForeignKeys:
    """The foreign keys of a catalog's tables, kept up to date with it."""

    def __init__(self, catalog: Catalog, databases: DatabaseNames = SAME_NAMES) -> None:
        self._catalog = catalog
        self._databases = databases
        self._seen = -1
        self._of: dict[Name, list[Child]] = {}
        self._to: dict[Name, list[Child]] = {}

    def of(self, name: Name) -> list[Child]:
        """Return the foreign keys of a table."""
        self._look()
        return self._of.get(name, [])

    def to(self, name: Name) -> list[Child]:
        """Return the foreign keys that refer to a table."""
        self._look()
        return self._to.get(name, [])

    def ties(self, name: Name) -> Ties:
        """Return the foreign keys to and of a table."""
        return Ties(
            [((self._databases[child.name[0]], child.name[1]), child) for child in self.to(name)],
            [((self._databases[child.parent[0]], child.parent[1]), child) for child in self.of(name)],
        )

    def _look(self) -> None:
        if self._seen == self._catalog.statements:
            return
        self._seen = self._catalog.statements
        self._of, self._to = defaultdict(list), defaultdict(list)
        for definition in self._catalog:
            name = definition.db, definition.name
            for key in definition.foreign_keys:
                collations = tuple(_collation(definition.column(column)) for column in key.columns)
                child = Child(name, self._with_columns(key), collations)
                if child.key.referenced:
                    self._of[name].append(child)
                    self._to[child.parent].append(child)

    def _with_columns(self, key: ForeignKey) -> ForeignKey:
        """Resolve a foreign key without referenced columns to the primary key."""
        parent = self._catalog.lookup(key.db, key.table)
        if key.referenced or parent is None or len(parent.primary_key) != len(key.columns):
            return key
        return key._replace(referenced=parent.primary_key)


def _collation(column: ColumnDefinition | None) -> str | None:
    if column is None:
        return None
    return column.collation if column.base in _TEXTS and column.charset != NO_TEXT else NO_TEXT


def gone_rows(child: Child, images: BatchImages) -> Iterator[Gone]:
    """Yield the rows whose referenced value was removed or changed, and that the foreign key followed.

    Rows whose followers are logged are not among them.
    """
    columns = columns_of(images.columns, child.key.referenced)
    if not columns:
        return
    unfollowed = flagged_rows(images, UNFOLLOWED)
    followed = None if unfollowed is None else pc.invert(unfollowed)
    for group in images.groups():
        before, after = group.before, group.after
        action = child.key.on_delete if after is None else child.key.on_update
        if before is None or action == CHANGES_NOTHING or not {*columns} <= {*before.columns}:
            continue
        if followed is not None:
            chosen = before.pick(followed)
            before = images.marked(before, chosen)
            after = None if after is None else images.marked(after, chosen)
        values = key_texts(images, columns, before).to_pylist()
        now = [None] * len(values) if after is None else values
        if after is not None and {*columns} <= {*after.columns}:
            now = key_texts(images, columns, after).to_pylist()
        for place, value, new in zip(images.places(before), values, now, strict=True):
            if value is not None and value != new:
                yield Gone(place, value, new, after is None)


def columns_of(columns: Sequence[ResolvedColumn], names: Iterable[str]) -> tuple[int, ...] | None:
    """Return the indexes of columns; None if one does not exist."""
    indexes = {folded_name(column.source_name): index for index, column in enumerate(columns)}
    found = [indexes.get(folded_name(name)) for name in names]
    return None if None in found else tuple(index for index in found if index is not None)


def listed_keys(keys: Collection[str], count: int | None = None) -> str:
    """List the texts of some keys.

    Args:
        count: how many there are if they are not all given.
    """
    texts = [key.replace(BETWEEN, ", ") for key in islice(keys, LISTED)]
    return listed(texts, LISTED, separator="; ", count=len(keys) if count is None else count)


def folded(child: Child, texts: pa.Array) -> pa.Array:
    """Return the folds of a foreign key's values."""
    if child.compares_bytes:
        return texts
    return pa.array([None if text is None else child.fold(text) for text in texts.to_pylist()], pa.string())
