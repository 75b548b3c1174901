"""Single cells: topics and labels in counts of AnnData objects (extra ``sc``).

`ssnmf` writes topics, predictions and marker genes into an object; `fit` returns a model,
`annotate` applies it to other cells, and `load` reads a saved one. Matrices on disk stay there.

    cells          a matrix of cells × genes, in memory or on disk, in chunks of rows
    count_checks   rejects what is not raw counts
    genes          chooses variable genes
    labels         reads a column of obs
    model          an estimator with its genes and markers; answers, saved folders
    cell_fit       chooses genes, fits, finds markers
    annotate       writes results to obs, obsm, varm and uns, or to a copy of an .h5ad file
    survey         what a file contains, for cofactor check
"""

from cofactor.sc.annotate import annotate, ssnmf
from cofactor.sc.cell_fit import fit
from cofactor.sc.model import CellModel, Marker, load

__all__ = ["CellModel", "Marker", "annotate", "fit", "load", "ssnmf"]
