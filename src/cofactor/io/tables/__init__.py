"""Tables of documents in files, read in one pass.

`sources` opens a table of any format; `decoding`, `separated`, `jsonlines`, `parquet` and `trees`
know one format each. `documents` and `labels` find texts and labels in the rows; `survey` counts
them. `limits` bounds what a hostile file can use of the memory. Only the standard library is
needed, and pyarrow for Parquet.
"""

from cofactor.io.errors import InputError
from cofactor.io.tables.documents import Documents, read_documents
from cofactor.io.tables.sources import Source, open_source

__all__ = ["Documents", "InputError", "Source", "open_source", "read_documents"]
