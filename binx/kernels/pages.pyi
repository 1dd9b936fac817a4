"""Column chunks encoded page by page, straight from Arrow's buffers."""

from binx.kernels.chunks import Chunk

class PageEncoder(Chunk):
    """Encodes one column chunk after another.

    After each page the encoder itself is a buffer of its bytes, levels and values, until the next one. Of a
    page of one long string these are only what stands before its bytes, which are taken from where they are.

    Attributes:
        page_entries: values of the page, nulls and empty lists among them.
    """

    @property
    def page_entries(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def long_bytes(self) -> memoryview | None:
        """The bytes of the page's one long string, which end the page; None where it has none."""

    def __len__(self) -> int:
        """Bytes of the page, those of a long string among them."""

    def dictionary_page(self) -> bool:
        """Encode the dictionary's page; False where the chunk has none."""

    def data_page(self) -> bool:
        """Encode the next page of values; False where all are written."""

    def least_and_largest(self) -> tuple[bytes, bytes] | None:
        """The least and the largest value of the chunk as PLAIN has them; None where that is not known."""
