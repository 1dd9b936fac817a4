"""MySQL's binary JSON rendered as the text that the server prints."""

from typing_extensions import Buffer

def to_text(data: Buffer) -> str:
    """Give a JSON column's document (type byte and value, without the length before them) as text.

    The text is the one that ``SELECT`` gives, character for character. A
    document of no bytes is JSON's null, as the server takes it.

    Raises:
        DamagedError: the bytes are not a document that a server can have written.
    """

def diff_to_text(data: Buffer) -> str:
    """Give the changes of a partially updated JSON column as a JSON array.

    Each is an object with ``op`` (``replace``, ``insert``, ``remove``), ``path``
    (MySQL's, such as ``$.a[1]``) and, except for ``remove``, ``value``; they
    apply one after another.

    Args:
        data: the vector of changes, without the four bytes of length before it.

    Raises:
        DamagedError: the bytes are not changes that a server can have written.
    """
