"""RowBlocks: what is stored, sampled, refused and left behind."""

import json
import shutil

import numpy as np
import pytest
from scipy import sparse as sp

from cofactor import RowBlocks
from cofactor.outofcore import RowBlocksError
from cofactor.targets.reading import known_values, labelled_mask


@pytest.fixture
def X():
    return sp.csr_array(sp.random(53, 17, 0.3, random_state=0))


LABELS = np.array([None, "cat", "", "dog", "cat"] * 11, dtype=object)[:53]
TARGETS = {
    "labels": LABELS,
    "integers": np.arange(53) % 4 - 1,
    "numbers": np.where(np.arange(53) % 3 == 0, np.nan, np.arange(53.0)),
    "indicator": np.where(np.arange(106).reshape(53, 2) % 5 == 0, np.nan, 1.0),
    "none": None,
}


def as_csr(observations):
    return observations.layout.as_csr(observations.shape[1])


def together(blocks):
    parts = [blocks.block(i) for i in range(blocks.n_blocks)]
    X = sp.vstack([as_csr(part.X) for part in parts]).toarray()
    return X, None if parts[0].y is None else np.concatenate([part.y for part in parts])


def test_both_ways_hold_the_same_cells(X, tmp_path):
    for blocks in (RowBlocks.split(X, rows=20), RowBlocks.write(tmp_path / "b", [X], rows=20)):
        assert blocks.n_blocks == 3
        for i in range(3):
            block = blocks.block(i).X
            np.testing.assert_array_equal(
                as_csr(block).toarray(), as_csr(block.transposed).toarray().T
            )


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("sizes", [[53], [10, 0, 3, 40], [1] * 53])
def test_what_is_written_is_read(X, tmp_path, kind, sizes):
    y, batches, low = TARGETS[kind], [], 0
    for size in sizes:
        part = X[low : low + size]
        batches.append(part if y is None else (part, y[low : low + size]))
        low += size
    blocks = RowBlocks.write(tmp_path / "b", iter(batches), rows=13)
    assert blocks.shape == X.shape
    assert [fact.rows for fact in blocks.facts] == [13, 13, 13, 13, 1]
    again, targets = together(RowBlocks.open(tmp_path / "b"))
    np.testing.assert_array_equal(again, X.toarray())
    if kind == "labels":
        assert targets.tolist() == [label or None for label in y]
    elif y is not None:
        np.testing.assert_array_equal(targets, y)


def test_blocks_are_cut_by_their_cells(X, tmp_path, monkeypatch):
    monkeypatch.setattr("cofactor.outofcore.rowblocks.BLOCK_CELLS", 60)
    blocks = RowBlocks.write(tmp_path / "b", [X])
    np.testing.assert_array_equal(together(blocks)[0], X.toarray())
    assert blocks.n_blocks > 3
    assert all(fact.cells <= 60 + 17 for fact in blocks.facts)


def test_the_callers_matrix_stays_as_it_is(tmp_path):
    X = sp.csr_array((np.array([1.0, 2.0, 0.0]), np.array([1, 1, 0]), np.array([0, 2, 3])))
    before = X.data.copy(), X.indices.copy()
    blocks = RowBlocks.write(tmp_path / "b", [X])
    assert together(blocks)[0].tolist() == [[0.0, 3.0], [0.0, 0.0]]
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])


def test_blocks_on_disk_cannot_be_changed_through_the_map(X, tmp_path):
    blocks = RowBlocks.write(tmp_path / "b", [X])
    blocks.block(0).X.layout.values[:] = 7.0
    np.testing.assert_array_equal(together(blocks)[0], X.toarray())


def test_zero_is_a_label(X, tmp_path):
    y = np.array([0, 1, None] * 18, dtype=object)[:53]
    blocks = RowBlocks.write(tmp_path / "b", [(X, y)], rows=20)
    assert together(blocks)[1].tolist() == y.tolist()
    assert int(labelled_mask(together(blocks)[1]).sum()) == 36


def test_many_small_blocks_take_linear_time(monkeypatch):
    """Rows are copied once into the whole and once into their block."""
    from cofactor.outofcore import batches

    copied, part = [], batches._part
    monkeypatch.setattr(
        batches, "_part", lambda b, low, high: copied.append(high - low) or part(b, low, high)
    )
    RowBlocks.split(sp.csr_array(sp.random(2000, 5, 0.5, random_state=0)), rows=10)
    assert sum(copied) <= 2000


# ---------------------------------------------------------------- sampling


def test_a_large_budget_takes_every_row(X):
    sample, y, weights = RowBlocks.split(X, LABELS, rows=9).sample(10**6)
    np.testing.assert_array_equal(sample.toarray(), X.toarray())
    assert y.tolist() == LABELS.tolist()
    assert weights is None


@pytest.mark.parametrize("kind", ["labels", "integers", "numbers"])
def test_weights_make_up_for_the_choice(kind):
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(4000, 12, 0.5, random_state=0))
    y = np.array(["a", "b", "rare"], dtype=object)[(rng.random(4000) * 2).astype(int)]
    y[rng.random(4000) < 0.9] = None
    y[1234] = "rare"
    if kind == "integers":
        y = np.array([-1 if v is None else "ab.rare".index(v) for v in y])
    if kind == "numbers":
        y = np.array([np.nan if v is None else float("ab.rare".index(v)) for v in y])
    sample, some, weights = RowBlocks.split(X, y, rows=500).sample(X.nnz // 10, labelled_mask)
    assert 0.08 < sample.shape[0] / 4000 < 0.13
    assert weights.sum() == pytest.approx(4000)
    known = np.array([v is not None and v == v and v != -1 for v in some])
    all_known = np.array([v is not None and v == v and v != -1 for v in y])
    assert weights[known].sum() == pytest.approx(all_known.sum())
    rarest = {"labels": "rare", "integers": 3, "numbers": 3.0}[kind]
    assert rarest in some.tolist()
    means = np.average(sample.toarray(), axis=0, weights=weights)
    np.testing.assert_allclose(means, X.toarray().mean(axis=0), atol=0.06)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("batches", "words"),
    [
        ([np.ones((2, 3)), np.ones((2, 4))], "4 columns.*3"),
        ([np.ones((2, 3)), (np.ones((2, 3)), [0, 1])], "Some batches have y"),
        ([(np.ones((2, 3)), [0, 1, 0])], "y has 3 rows, but X has 2"),
        ([(np.ones((2, 3)), [0, 1]), (np.ones((2, 3)), [[0, 1], [1, 0]])], "y of shape"),
        ([-np.ones((2, 3))], "negative value -1"),
        ([np.full((2, 3), np.nan)], "not finite"),
        ([np.full((2, 3), np.inf)], "not finite"),
        ([], "no row"),
        ([np.ones((2, 3)), np.ones((2, 3), np.float32)], "float32.*float64"),
        (
            [
                (np.ones((2, 3)), np.array([0, 1])),
                (np.ones((2, 3)), np.array([1, None], dtype=object)),
            ],
            "y of labels.*numbers",
        ),
    ],
)
def test_bad_batches_leave_nothing_behind(tmp_path, batches, words):
    with pytest.raises(ValueError, match=words):
        RowBlocks.write(tmp_path / "b", batches)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("y", [np.array([b"a", b"b"], dtype=object), [["a", "b"], ["c", "d"]]])
def test_labels_that_cannot_be_stored(tmp_path, y):
    with pytest.raises(TypeError, match="y has"):
        RowBlocks.write(tmp_path / "b", [(np.ones((2, 3)), np.array(y, dtype=object))])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [float, int])
def test_a_rare_class_in_the_middle_is_sampled(kind):
    y = np.where(np.arange(4000) % 2, 2, 0).astype(kind)
    y[1717] = 1
    X = sp.csr_array(sp.random(4000, 12, 0.5, random_state=0))
    assert 1 in RowBlocks.split(X, y, rows=500).sample(X.nnz // 20, labelled_mask)[1].tolist()


def test_many_distinct_numbers_do_not_fill_the_sample():
    rng = np.random.default_rng(0)
    X = sp.csr_array(sp.random(20_000, 12, 0.5, random_state=0))
    y = rng.integers(-50_000, 1_000_000, 20_000)
    sample, some, _ = RowBlocks.split(X, y, rows=5000).sample(
        X.nnz // 100, known_values, numbers=True
    )
    assert sample.shape[0] < 1500
    assert y.min() in some
    assert y.max() in some


def test_batches_of_text_are_refused(tmp_path):
    with pytest.raises(TypeError, match="dtype"):
        RowBlocks.write(tmp_path / "b", [np.array([["a", "b"]])])


def test_an_interruption_leaves_nothing_behind(X, tmp_path):
    def batches():
        yield X
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RowBlocks.write(tmp_path / "b", batches(), rows=10)
    assert list(tmp_path.iterdir()) == []


def test_no_space_left_is_said_and_leaves_nothing_behind(X, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match=r"There is no room for .*b\. The disk was full"):
        RowBlocks.write(tmp_path / "b", [X])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_not_replaced_unasked(X, tmp_path):
    RowBlocks.write(tmp_path / "b", [X])
    with pytest.raises(FileExistsError, match="overwrite=True"):
        RowBlocks.write(tmp_path / "b", [X])
    assert RowBlocks.write(tmp_path / "b", [X[:5]], overwrite=True).shape == (5, 17)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(RowBlocksError, match="not a folder of row blocks"):
        RowBlocks.write(tmp_path / "mine", [X], overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_a_truncated_file_is_found_when_opened(X, tmp_path):
    RowBlocks.write(tmp_path / "b", [X], rows=20)
    path = tmp_path / "b" / "00001" / "values.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(RowBlocksError, match=r"00001.*values.npy.*bytes"):
        RowBlocks.open(tmp_path / "b")


def test_a_missing_file_is_found_when_opened(X, tmp_path):
    RowBlocks.write(tmp_path / "b", [X], rows=20)
    shutil.rmtree(tmp_path / "b" / "00002")
    with pytest.raises(RowBlocksError, match=r"00002.*missing"):
        RowBlocks.open(tmp_path / "b")


def test_a_file_that_vanishes_later_is_named(X, tmp_path):
    blocks = RowBlocks.write(tmp_path / "b", [X], rows=20)
    (tmp_path / "b" / "00000" / "indices.npy").unlink()
    with pytest.raises(RowBlocksError, match=r"indices.npy"):
        blocks.block(0)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}', '{"schema": 9, "blocks": []}'])
def test_damaged_manifests(X, tmp_path, text):
    RowBlocks.write(tmp_path / "b", [X])
    (tmp_path / "b" / "blocks.json").write_text(text)
    with pytest.raises(RowBlocksError, match=r"blocks.json|schema"):
        RowBlocks.open(tmp_path / "b")


def test_other_targets(X, tmp_path):
    blocks = RowBlocks.write(tmp_path / "b", [(X, LABELS)], rows=20)
    other = blocks.with_targets(np.arange(53) % 2)
    assert together(other)[1].tolist() == (np.arange(53) % 2).tolist()
    assert json.loads((tmp_path / "b" / "blocks.json").read_text())["labels"] == ["cat", "dog"]
    with pytest.raises(ValueError, match="y has 3 rows, but X has 53"):
        blocks.with_targets([1, 2, 3])
