"""`cofactor fit --cluster`."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cofactor import RowBlocks, TopicModel, load_model
from commands import answer, cofactor, make_rows, write_table

pytest.importorskip("dask", reason="cofactor.distributed needs: pip install 'cofactor[dask]'")


def test_fit_on_a_cluster(client, tmp_path):
    rows = make_rows()
    table = write_table(tmp_path / "table.csv", rows)
    options = ("--text", "body", "--label", "team", "-k", 4, "--iterations", 6)
    address = client.scheduler.address
    answer("fit", table, "-o", tmp_path / "there", *options, "--cluster", address)

    def in_blocks(estimator, X, y):
        return estimator.fit(RowBlocks.split(X, y, rows=6))  # 90 rows, 16 blocks at most

    here, there = TopicModel(4, max_iter=6, random_state=0), load_model(tmp_path / "there")
    texts, labels = [row[1] for row in rows], [row[2] for row in rows]
    with pytest.warns(ConvergenceWarning):
        here.fit(texts, labels, fit_with=in_blocks)
    np.testing.assert_array_equal(there.estimator_.components_, here.estimator_.components_)
    assert there.predict(["rocket moon orbit"]) == here.predict(["rocket moon orbit"]) == ["space"]


def test_names_of_labels_stay(client, tmp_path):
    rows = [[i, body, f"{team};odd" if int(i) % 2 else team] for i, body, team in make_rows()]
    table = write_table(tmp_path / "table.csv", rows)
    answer(
        "fit",
        table,
        "-o",
        tmp_path / "there",
        "--text",
        "body",
        "--label",
        "team",
        "--label-separator",
        ";",
        "-k",
        4,
        "--iterations",
        6,
        "--cluster",
        client.scheduler.address,
    )
    there = load_model(tmp_path / "there")
    teams = {part for row in rows for part in row[2].split(";") if part}
    assert there.target_names_ == there.classes_.tolist() == sorted(teams)
    predicted = there.documents(["rocket moon orbit"])[0].prediction
    assert "space" in predicted
    assert not {"food", "sport"} & set(predicted)


def test_no_such_cluster(tmp_path):
    table = write_table(tmp_path / "table.csv", make_rows())
    done = cofactor(
        "fit",
        table,
        "-o",
        tmp_path / "model",
        "--text",
        "body",
        "--label",
        "team",
        "--cluster",
        "nowhere",
        code=2,
    )
    assert "No scheduler answers at 'nowhere'" in done.stderr
    assert not (tmp_path / "model").exists()
