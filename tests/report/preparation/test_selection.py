"""What a report shows where not everything fits."""

import numpy as np

from cofactor.report.preparation.prepare import OTHERS, _cells, _merged, _pairs
from cofactor.report.preparation.scores import confusion
from cofactor.report.preparation.selection import fitting_texts, largest


def test_short_texts_stay_whole_and_long_ones_share_the_rest():
    texts = ["a" * n for n in (10, 500, 20, 900, 100)]
    cut, is_cut = fitting_texts(texts, room=730)
    assert is_cut
    assert [len(text) for text in cut] == [10, 301, 20, 301, 100]  # with the sign of a cut
    assert sum(len(text.rstrip("…")) for text in cut) == 730
    for text, short in zip(texts, cut, strict=True):
        assert text.startswith(short.rstrip("…"))
    assert fitting_texts(texts, room=1530) == (texts, False)
    assert fitting_texts([], room=5) == ([], False)


def test_texts_fit_as_bytes_of_the_page():
    from cofactor.report.html import safe_json

    texts = ["<&>" * 400, "木" * 700, "line\n" * 200, "plain " * 500]
    cut, _ = fitting_texts(texts, room=3000)
    assert len(safe_json(cut).encode()) < 3000 * 1.05
    assert min(map(len, cut)) > 100


def test_largest_keep_their_order():
    assert largest([3, 9, 1, 9], 3) == [0, 1, 3]
    assert largest([1, 2], 5) == [0, 1]


def test_small_classes_are_merged_in_the_confusion():
    random = np.random.default_rng(0)
    truth, said = random.integers(0, 6, (2, 300))
    matrix, names = confusion(truth, said, 6), list("abcdef")
    merged, kept = _merged(matrix, names, [1, 4])
    assert kept == ["b", "e", OTHERS]
    group = np.array([2, 0, 2, 2, 1, 2])
    np.testing.assert_array_equal(merged, confusion(group[truth], group[said], 3))
    assert _merged(matrix, names, list(range(6))) == (matrix, names)
    assert sum(row["documents"] for row in _cells(merged, kept)) == 300
    pairs = _pairs(matrix, names)
    counts = [row["documents"] for row in pairs]
    assert counts == sorted(matrix[matrix > 0].tolist(), reverse=True)
    assert all(matrix[ord(p["truth"]) - 97, ord(p["prediction"]) - 97] for p in pairs)
