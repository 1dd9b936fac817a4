"""Render MySQL's binary JSON as the text that the server prints.

Render partial updates of JSON columns as text, or apply them to the old document.
"""

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
    apply in order.

    Args:
        data: the vector of changes, without the four bytes of length before it.

    Raises:
        DamagedError: the bytes are not changes that a server can have written.
    """

def applied(document: Buffer, changes: Buffer) -> str | None:
    """Give the text of a document with changes applied, as the server prints it.

    Args:
        document: the document before (type byte and value).
        changes: as for :func:`diff_to_text`.

    Returns:
        None where the document lacks what a change's path names, or has what it inserts.

    Raises:
        DamagedError: the bytes are not a document, or not changes, that a server can have written.
    """
