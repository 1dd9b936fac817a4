"""Render MySQL's binary JSON as the text that the server prints."""

from typing_extensions import Buffer

def to_text(data: Buffer) -> str:
    """Give a JSON column's document (type byte and value, without the length before them) as text.

    The text is the one that ``SELECT`` gives, character for character. A
    document of no bytes is JSON's null, as the server takes it.

    Raises:
        DamagedError: the bytes are not a document that a server can have written.
    """
