"""Data beyond memory: rows in blocks, in memory or memory-mapped from a folder.

    folder/
      blocks.json       schema, shape, dtype, and for each block its rows, sizes and largest value
      notes.json        what the writer keeps with them, if anything
      00000/            values, indices, start (the block by rows), across-* (by columns), y

A block is stored both ways, because features are updated column by column: the kernels then read
it as they read an array in memory.
"""

from cofactor.outofcore.rowblocks import Block, RowBlocks, RowBlocksError

__all__ = ["Block", "RowBlocks", "RowBlocksError"]
