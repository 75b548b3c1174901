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

    assert answer("verify", tmp_path / "there")["identical"]

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


def write_parts(folder, rows, step=16):
    folder.mkdir()
    for place in range(0, len(rows), step):
        write_table(folder / f"part-{place:03d}.csv", rows[place : place + step])
    return folder / "*.csv"


def test_workers_read_the_files_of_a_table(client, tmp_path):
    """Fit and predictions have the bits of one process, also from a checkpoint."""
    pattern, address = write_parts(tmp_path / "data", make_rows()), client.scheduler.address
    options = ("--text", "body", "--label", "team", "-k", 4)
    there = (*options, "--cluster", address, "--checkpoint", tmp_path / "kept")
    for name, how in (("here", options), ("there", there), ("again", there)):
        answer("fit", pattern, "-o", tmp_path / name, *how)
    here = load_model(tmp_path / "here")
    for name in ("there", "again"):
        other = load_model(tmp_path / name)
        assert other.estimator_.components_.tobytes() == here.estimator_.components_.tobytes()
        assert other.documents() == here.documents()
    for name, how in (("out", ()), ("out there", ("--cluster", address))):
        answer("predict", tmp_path / "here", pattern, "-o", tmp_path / name, *how)
    for path in (tmp_path / "out").glob("*.csv"):
        assert path.read_bytes() == (tmp_path / "out there" / path.name).read_bytes()
