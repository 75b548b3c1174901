"""Tables of documents in files, read in one pass.

`sources` opens a table of any format; `decoding`, `separated`, `jsonlines`, `json_arrays`,
`parquet`, `excel` and `trees` know one format each. `documents`, `labels` and `dates` find texts,
labels and dates in the rows; `relabel` and `spelling` are about names of labels. `survey` counts
what a table holds, and `label_advice` says what is doubtful about its labels. `limits` bounds the
memory that a hostile file can take. Only the standard library is needed, pyarrow for Parquet, and
python-calamine for spreadsheets.
"""

from cofactor.io.errors import InputError
from cofactor.io.tables.documents import Documents, read_documents
from cofactor.io.tables.sources import Source, open_source

__all__ = ["Documents", "InputError", "Source", "open_source", "read_documents"]
