"""Reads files that are mostly holes. The engine reserves its files in full: 1.5 MB of data look like 350 MB."""

import os
from collections.abc import Iterator

BLOCK_BYTES = 64 * 1024


def data_blocks(handle: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file that are not all zeros, with their offsets. Zeros that were written count as a hole."""
    for offset in _written_blocks(handle, size):
        block = os.pread(handle, min(BLOCK_BYTES, size - offset), offset)
        if block != bytes(len(block)):  # an order of magnitude faster than counting the zeros
            yield offset, block


def _written_blocks(handle: int, size: int) -> Iterator[int]:
    """Where the blocks that may contain data begin."""
    offset = 0
    while offset < size:
        if hasattr(os, "SEEK_DATA"):
            try:
                offset = os.lseek(handle, offset, os.SEEK_DATA)
            except OSError:  # no data after this
                return
        offset -= offset % BLOCK_BYTES
        yield offset
        offset += BLOCK_BYTES
