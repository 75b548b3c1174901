"""Cells on disk: the same results as in memory, without loading the matrix."""

import errno
import tracemalloc

import anndata
import h5py
import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import sc
from cofactor.estimators import validation
from cofactor.outofcore import rowblocks
from cofactor.sc import cells as reading
from complaints import assert_says
from made_cells import balanced_accuracy, draw_cells

pytestmark = pytest.mark.filterwarnings("ignore:Writing zarr v2")


@pytest.fixture
def adata():
    return draw_cells(n=200)


@pytest.mark.parametrize("ending", ["h5ad", "zarr"])
@pytest.mark.parametrize("dense", [False, True])
def test_a_path_gives_the_labels_of_memory(adata, tmp_path, ending, dense):
    if dense:
        adata.X = adata.X.toarray()
    path = tmp_path / f"cells.{ending}"
    getattr(adata, f"write_{ending}")(path)
    here = sc.ssnmf(adata, labels="cell_type", copy=True)
    there = sc.ssnmf(path, labels="cell_type")
    assert there.X is None
    same = here.obs["ssnmf"].astype(object) == there.obs["ssnmf"].astype(object)
    assert same.mean() > 0.98  # blocks are fitted by another order of updates
    assert np.array_equal(here.varm["ssnmf"].any(axis=1), there.varm["ssnmf"].any(axis=1))


def test_a_layer_of_a_path(adata, tmp_path):
    adata.layers["counts"] = adata.X.copy()
    adata.X = adata.X.log1p()
    adata.write_h5ad(tmp_path / "cells.h5ad")
    found = sc.ssnmf(tmp_path / "cells.h5ad", labels="cell_type", layer="counts")
    assert balanced_accuracy(found) > 0.8
    assert_says(lambda: sc.ssnmf(tmp_path / "cells.h5ad"), "X holds", "layer='counts'")


def test_a_backed_object_is_saved_only_if_it_may_be(adata, tmp_path):
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    for mode, written in (("r", False), ("r+", True)):
        backed = anndata.read_h5ad(path, backed=mode)
        sc.ssnmf(backed, labels="cell_type", n_topics=4)
        assert "ssnmf" in backed.obs
        backed.file.close()
        again = anndata.read_h5ad(path)
        assert ("ssnmf" in again.obs) == written
        assert (again.X != adata.X).nnz == 0


def test_a_copy_of_a_backed_object(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    found = sc.ssnmf(backed, labels="cell_type", n_topics=4, copy=True)
    assert "ssnmf" in found.obs
    assert "ssnmf" not in backed.obs
    backed.file.close()


def test_a_part_of_a_backed_object(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    part = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")[:150]
    assert_says(lambda: sc.ssnmf(part, labels="cell_type"), "backed", "copy=True", "to_memory")
    assert len(sc.ssnmf(part, labels="cell_type", n_topics=4, copy=True).obs["ssnmf"]) == 150


def test_columns_on_disk_are_refused(adata, tmp_path):
    adata.X = sp.csc_matrix(adata.X)
    assert balanced_accuracy(sc.ssnmf(adata, labels="cell_type", copy=True)) > 0.8
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert_says(lambda: sc.ssnmf(tmp_path / "cells.h5ad", "cell_type"), "CSC", "tocsr")


def test_errors_of_a_fit_are_not_blamed_on_the_file(adata, tmp_path, monkeypatch):
    """A full disk is reported as such; only a broken chunk is blamed on the file."""
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(rowblocks.RowBlocks, "write", full)
    with pytest.raises(OSError, match="No space left"):
        sc.fit(path, "cell_type")
    with h5py.File(path, "r+") as file:
        del file["X/data"]
        file["X/data"] = h5py.ExternalLink("elsewhere.h5", "data")
    assert_says(lambda: sc.fit(path, "cell_type"), "cells.h5ad", "cannot be read")


@pytest.mark.slow
def test_memory_stays_small(adata, tmp_path, monkeypatch):
    """Counts that take many times as much memory as a fit may take are fitted from the file."""
    many = sp.vstack([adata.X] * 20, format="csr")
    wide = anndata.AnnData(many, obs=_repeated(adata.obs, 20), var=adata.var)
    wide.write_h5ad(tmp_path / "cells.h5ad")
    size = many.data.nbytes + many.indices.nbytes
    del wide, many
    for place, name in (
        (validation, "SAMPLE_CELLS"),
        (rowblocks, "BLOCK_CELLS"),
        (reading, "SPARSE_CHUNK_ENTRIES"),
    ):
        monkeypatch.setattr(place, name, 1 << 15)
    tracemalloc.start()
    found = sc.ssnmf(tmp_path / "cells.h5ad", "cell_type", n_topics=4, genes=100, tol=0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert balanced_accuracy(found) > 0.8
    assert peak < size / 2, (peak, size)


def _repeated(obs, times):
    import pandas

    table = pandas.concat([obs.assign(cell_type=None)] * (times - 1) + [obs])
    table.index = [f"cell{i}" for i in range(len(table))]
    return table
