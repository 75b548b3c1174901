"""Data beyond memory: rows in blocks, in memory or memory-mapped from a folder.

    folder/
      blocks.json       schema, width, labels, names of target columns (if they have names);
                        rows, cells, dtype, largest value of each block; size and digest of each
                        file
      notes.json        anything else that the writer keeps with the blocks
      00000/            values, indices, start (the block by rows), across-* (by columns), y

A block is stored by rows and by columns, because features are updated column by column. The kernels
read it as they read an array in memory, so it is checked before they see it: headers and sizes when
the folder is opened, digests and contents when a block is first read.
"""

from cofactor.outofcore.rowblocks import Block, RowBlocks, RowBlocksError

__all__ = ["Block", "RowBlocks", "RowBlocksError"]
