"""A small table and a model of it."""

import pytest

from commands import cofactor, make_rows, write_table


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A folder with posts.csv, new.csv and a model of the first."""
    folder = tmp_path_factory.mktemp("home")
    write_table(folder / "posts.csv", make_rows())
    new = [[row[0], row[1]] for row in make_rows(30, seed=1)]
    write_table(folder / "new.csv", new, ("id", "body"))
    fit = ["fit", folder / "posts.csv", "--text", "body", "--label", "team"]
    cofactor(*fit, "-k", "6", "-o", folder / "model")
    return folder


@pytest.fixture
def model(home):
    return home / "model"
