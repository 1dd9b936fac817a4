"""A column chunk as Arrow has it, and how it is encoded."""

from enum import IntEnum

from typing_extensions import Buffer

from binx.kernels.levels import Levels

class Encoding(IntEnum):
    """How values are written, by the format's numbers."""

    ENCODING_PLAIN = 0
    ENCODING_RLE = 3
    ENCODING_DELTA_BINARY_PACKED = 5
    ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6
    ENCODING_DELTA_BYTE_ARRAY = 7
    ENCODING_RLE_DICTIONARY = 8

class Chunk:
    """A chunk, and after it the next one: it keeps the memory that both need.

    Attributes:
        encoding: how the chunk's values are encoded.
        dictionary_words: the words of its dictionary; 0 where it has none.
        values: values of the chunk that are there.
        entries: all its values.
    """

    @property
    def encoding(self) -> int: ...
    @property
    def dictionary_words(self) -> int: ...
    @property
    def values(self) -> int: ...
    @property
    def entries(self) -> int: ...
    def begin(
        self,
        form: int,
        width: int,
        rows: int,
        first: int,
        values: Buffer,
        data: Buffer | None,
        words: Buffer | None,
        validity: Buffer | None,
        optional: bool,
        has_dictionary: bool,
        levels: Levels | None,
        extent: bool,
    ) -> None:
        """Begin a chunk.

        Args:
            form: what the values are, a :class:`~binx.kernels.numbers.Form`.
            width: of a decimal that is written as bytes: how many; of words: bytes of their numbers.
            rows: how many.
            first: the place of the first value in its buffers, where there is one for each row.
            values: Arrow's buffer of values, of offsets, or of the numbers of words.
            data: the bytes of strings or words.
            words: offsets of the words' bytes, exactly one more than there are words.
            validity: the bitmap of the values that are there; None where all are, or levels tell it.
            optional: whether a value can be null, where there are no levels.
            has_dictionary: whether words are written through a dictionary, however many they are.
            levels: of a column that is nested.
            extent: whether the least and the largest value are wanted.

        Raises:
            ValueError: a buffer is shorter than what it shall hold.
        """

    def end(self) -> None:
        """Let go of the chunk's memory."""
