"""Labels that are numbers: how they are read, learned, and written."""

import re

import numpy as np
import pytest

from commands import WORDS, answer, cofactor, read_table, write_table

READ = ("--text", "body", "--label", "price", "-k", 3, "--iterations", 20)


def priced(n=120, seed=0):
    """Rows of id, body and a price, which is lognormal."""
    random, names = np.random.default_rng(seed), list(WORDS)
    rows = []
    for i in range(n):
        body = " ".join(random.choice(WORDS[names[i % 3]], 6))
        rows.append([str(i), body, float(np.exp(3 + 1.2 * (i % 3) + 0.4 * random.normal()))])
    return rows


def table(path, form):
    return write_table(
        path, [[i, body, form(price)] for i, body, price in priced()], ("id", "body", "price")
    )


FORMS = {
    "plain": lambda price: f"{price:.2f}",
    "comma": lambda price: f"{price:.2f}".replace(".", ","),
    "dollars": lambda price: f"${price:,.2f}",
    "euros": lambda price: f"{price:,.2f} €".translate(str.maketrans(",.", ".,")),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    for name, form in FORMS.items():
        table(folder / f"{name}.csv", form)
    cofactor("fit", folder / "plain.csv", *READ, "-o", folder / "plain")
    return folder


@pytest.mark.parametrize("name", ["comma", "dollars", "euros"])
def test_numbers_as_people_write_them_give_the_same_model(home, tmp_path, name):
    done = cofactor("fit", home / f"{name}.csv", *READ, "-o", tmp_path / "m")
    first = FORMS[name](priced()[0][2])
    value = f"{priced()[0][2]:.2f}".rstrip("0").rstrip(".")
    assert f"{first!r} is read as {value}; --task classes" in done.stderr
    out = []
    for model in (home / "plain", tmp_path / "m"):
        cofactor("predict", model, home / "plain.csv", "-o", tmp_path / "out.csv", "--force")
        out.append(read_table(tmp_path / "out.csv"))
    assert out[0] == out[1]


def test_blocks_read_them_too(home, tmp_path):
    read = READ[:4]
    for name in ("plain", "euros"):
        cofactor("blocks", home / f"{name}.csv", *read, "-o", tmp_path / name)
        cofactor("fit", tmp_path / name, "-k", 3, "--iterations", 20, "-o", tmp_path / f"m{name}")
    told = [cofactor("topics", tmp_path / f"m{name}").stdout for name in ("plain", "euros")]
    assert told[0] == told[1]


@pytest.mark.parametrize("odd", ["on request", "n/a"])
def test_a_column_of_which_some_labels_are_numbers_is_refused(tmp_path, odd):
    rows = [[i, body, FORMS["dollars"](price)] for i, body, price in priced()]
    rows[7][2] = odd
    path = write_table(tmp_path / "a.csv", rows, ("id", "body", "price"))
    done = cofactor("fit", path, *READ, "-o", tmp_path / "m", code=2)
    assert repr(odd) in done.stderr
    assert "--unlabelled" in done.stderr
    assert not (tmp_path / "m").exists()
    further = ("--unlabelled", odd)
    assert answer("fit", path, *READ, *further, "-o", tmp_path / "m")["input"]["labelled"] == 119


def test_logarithms_are_said_and_can_be_refused(home, tmp_path):
    fit = ("fit", home / "plain.csv", *READ, "-o", tmp_path / "m")
    done = cofactor(*fit)
    assert "so their logarithms are learned" in done.stderr
    assert "--log no learns the numbers as they are" in done.stderr
    assert "of logarithms, " in done.stderr
    assert "logarithms" in (tmp_path / "m" / "README.md").read_text()
    assert "their logarithms" not in cofactor(*fit, "--log", "no").stderr
    path = write_table(tmp_path / "a.csv", [[1, "moon", -3.5], [2, "goal", 2.5]] * 9)
    read = ("--text", "body", "--label", "team", "--log", "yes")
    done = cofactor("fit", path, *read, "-k", 2, "-o", tmp_path / "n", code=2)
    assert "--log 'yes' needs numbers that are not negative" in done.stderr


def test_predictions_have_intervals_and_are_whole_on_request(home, tmp_path):
    predict = ("predict", home / "plain", home / "plain.csv", "-o", tmp_path / "out.csv")
    cofactor(*predict)
    header, rows = read_table(tmp_path / "out.csv")
    assert header[2:] == ["price", "prediction", "low", "high", "topic", "reason"]
    price, told, low, high = (np.array([float(row[c]) for row in rows]) for c in range(2, 6))
    assert ((low > 0) & (low < told) & (told < high)).all()
    assert 0.84 < np.mean((low <= price) & (price <= high)) <= 1.0
    cofactor(*predict, "--whole", "--force")
    _, rounded = read_table(tmp_path / "out.csv")
    for row, exact in zip(rounded, rows, strict=True):
        assert row[3].isdigit()
        assert int(row[4]) <= float(exact[4]) + 0.01
    done = cofactor(*predict, "--all-classes", "--force", code=2)
    assert "--all-classes needs a model that predicts classes" in done.stderr


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "jsonl"])
def test_tables_come_out_in_the_format_that_is_named(home, tmp_path, ending):
    out = tmp_path / f"out.{ending}"
    predict = ("predict", home / "plain", home / "plain.csv", "-o", out)
    cofactor(*predict)
    assert "--force" in cofactor(*predict, code=2).stderr
    again = answer("predict", home / "plain", out, "-o", tmp_path / f"again.{ending}")
    assert again["rows"] == 120
    assert again["added"][0] == "prediction_2"


def test_two_columns_of_numbers_are_tested(tmp_path):
    rows = [[i, body, f"{price:.2f}", f"{price % 7:.3f}"] for i, body, price in priced()]
    path = write_table(tmp_path / "a.csv", rows, ("id", "body", "price", "rest"))
    done = cofactor("fit", path, *READ, "--label", "rest", "-o", tmp_path / "m")
    assert "Expected on new texts like these: mean R²" in done.stderr
    assert "no labels could be held out" not in done.stderr


def test_labelled_texts_without_a_known_word_are_said(tmp_path):
    rows = [[i, body, f"{price:.2f}"] for i, body, price in priced()]
    rows += [[500 + i, "???", "3.5"] for i in range(4)]
    path = write_table(tmp_path / "a.csv", rows, ("id", "body", "price"))
    done = cofactor("fit", path, *READ, "-o", tmp_path / "m")
    assert "4 labelled documents have no word that the model knows" in done.stderr
    assert "120 labelled" not in done.stderr


def test_an_explanation_says_that_scores_are_logarithms(home, tmp_path):
    done = cofactor("explain", home / "plain", "moon orbit rocket")
    assert "Scores are logarithms" in done.stderr
    cofactor("fit", home / "plain.csv", *READ, "--log", "no", "-o", tmp_path / "m")
    assert "logarithms" not in cofactor("explain", tmp_path / "m", "moon orbit rocket").stderr


def test_two_columns_of_numbers_are_told_apart(tmp_path):
    rows = [
        [i, body, f"{price:.2f}", f"{20 + 5 * np.log(price):.1f}"] for i, body, price in priced()
    ]
    path = write_table(tmp_path / "a.csv", rows, ("id", "body", "price", "weight"))
    read = ("--text", "body", "--label", "price", "--label", "weight", "-k", 3)
    said = cofactor("fit", path, *read, "-o", tmp_path / "m").stderr
    assert "of which few are very large in 'price', so their logarithms are learned" in said
    score = r"[-\d.]+"
    each = rf"; price {score} of logarithms, {score} in its units; weight {score}"
    assert re.search(each, said), said
    shown = cofactor("topics", tmp_path / "m").stdout
    assert len(re.findall(r"price [\d,.]+, weight [\d.]+", shown)) == 3
    text = " ".join(WORDS["space"][:3])
    explained = ("explain", tmp_path / "m", text, "--class")
    assert "Scores are logarithms" in cofactor(*explained, "price").stderr
    assert "Scores are logarithms" not in cofactor(*explained, "weight").stderr


def test_numbers_with_a_measure_are_numbers(home, tmp_path):
    kept = table(tmp_path / "a.csv", lambda price: f"{price * 100:,.0f} kB")
    said = cofactor("check", kept, *READ[:4]).stdout
    assert re.search(r"'[\d,]+ kB' is read as \d+;", " ".join(said.split()))
    mixed = table(tmp_path / "b.csv", lambda price: f"{price:.0f} {'kB' if price < 40 else 'MB'}")
    done = cofactor("fit", mixed, *READ, "-o", tmp_path / "m", code=2)
    assert "numbers that are written in different ways" in " ".join(done.stderr.split())


def test_decades_are_classes(tmp_path):
    rows = [[i, body, f"{70 + 10 * (int(i) % 3)}s"] for i, body, _ in priced()]
    path = write_table(tmp_path / "a.csv", rows, ("id", "body", "price"))
    assert answer("check", path, *READ[:4])["labels_are"] == "classes"
