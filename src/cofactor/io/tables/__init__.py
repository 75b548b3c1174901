"""Tables of documents in files, read in one pass.

`sources` opens a table of any format, and `file_parts` finds the files of one in several files.
`decoding` turns bytes into lines of text, and `csv_and_json`, `parquet` and `spreadsheets` read
rows. `labels` finds texts and labels in the rows, `dates` dates. `survey` counts what a table holds
for ``cofactor check``, and `label_advice` says what is doubtful about its labels, misspelt names
among them. `writers` writes tables. pyarrow is needed for Parquet only, and python-calamine for
spreadsheets.
"""

from cofactor.io.errors import InputError
from cofactor.io.tables.labels import Documents, read_documents
from cofactor.io.tables.sources import Source, open_source

__all__ = ["Documents", "InputError", "Source", "open_source", "read_documents"]
