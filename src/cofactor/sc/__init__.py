"""Single cells: topics and labels in counts of AnnData objects (extra ``sc``).

`ssnmf` writes topics, predictions and marker genes into an object; `fit` returns a model,
`annotate` applies it to other cells, and `load` reads a saved one. Matrices on disk are not loaded.

    cells      a matrix of raw counts, in memory or on disk, in chunks of rows; labels in obs
    genes      chooses genes: named ones, or variable ones
    markers    genes that mark types and topics
    model      an estimator with its genes and markers: predictions, saved folders
    fitting    chooses genes, fits, finds markers
    results    writes into obs, obsm, varm and uns of objects and of copies of files
    report     the page of topic models, for cells
    survey     describes a file, for cofactor check
"""

from cofactor.sc.fitting import fit
from cofactor.sc.markers import Marker
from cofactor.sc.model import CellModel, load
from cofactor.sc.results import annotate, ssnmf

__all__ = ["CellModel", "Marker", "annotate", "fit", "load", "ssnmf"]
