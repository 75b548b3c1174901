"""The made-up cells: the same for a seed, and types that their markers tell."""

import numpy as np

from cofactor.datasets import make_cells


def test_cells_depend_on_the_seed_alone():
    first, again, other = make_cells(), make_cells(), make_cells(seed=1)
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_markers_are_frequent_in_their_type_only():
    cells = make_cells(600)
    rates = cells.X / cells.X[:, -30:].mean(axis=1, keepdims=True)  # by depth
    truth = cells.obs["truth"].to_numpy()
    for c, kind in enumerate(["B cell", "T cell", "monocyte"]):
        inside, outside = (
            rates[of][:, 10 * c : 10 * c + 10].mean(axis=0) for of in (truth == kind, truth != kind)
        )
        assert (inside > 5 * outside).all()  # 8 times


def test_the_first_cells_have_labels_and_they_are_true():
    obs = make_cells().obs
    known = obs["cell_type"].notna()
    assert known.tolist() == [i < 24 for i in range(240)]
    assert (obs["cell_type"][known] == obs["truth"][known]).all()
