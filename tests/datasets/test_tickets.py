"""The made-up letters: the same everywhere, English, and readable as two themes for each desk."""

import hashlib
import json
import re

import pytest

from cofactor import TopicModel
from cofactor.cli.demo import write_tickets
from cofactor.datasets import make_tickets
from cofactor.datasets.tickets import DESKS, new_tickets
from cofactor.io.tables import open_source
from commands import cofactor


def test_the_letters_are_the_same_on_every_machine():
    digest = hashlib.sha256(json.dumps(make_tickets()).encode()).hexdigest()
    assert digest[:16] == "1350a5bc9eb5f8e9"


def test_half_of_the_letters_name_their_team():
    rows, whole = make_tickets(), make_tickets(every=1)
    assert sum(row["team"] != "" for row in rows) == 123
    assert all(row["team"] in ("", known["team"]) for row, known in zip(rows, whole, strict=True))
    assert [row["body"] for row in rows] == [row["body"] for row in whole]
    assert not {row["body"] for row in rows} & {row["body"] for row in new_tickets()}


def test_every_letter_is_about_its_desk():
    for row in make_tickets(every=1):
        words = re.findall(r"\w+", row["body"])
        counts = {
            desk: sum(words.count(word) for theme in themes for word in theme)
            for desk, themes in DESKS.items()
        }
        assert max(counts, key=counts.get) == row["team"]


def test_topics_are_the_themes():
    rows = make_tickets()
    model = TopicModel(6, random_state=0).fit([r["body"] for r in rows], [r["team"] for r in rows])
    themes = [set(theme) for desk in DESKS.values() for theme in desk]
    found = [max(themes, key=lambda t: len(t & set(topic.words))) for topic in model.topics(5)]
    assert len({frozenset(theme) for theme in found}) == 6
    assert all(
        len(t & set(topic.words)) >= 4 for t, topic in zip(found, model.topics(5), strict=True)
    )


def test_the_command_writes_both_tables_and_replaces_no_other(tmp_path):
    done = cofactor("demo", "--table", tmp_path / "letters.csv")
    assert "cofactor fit" in done.stderr
    table = open_source(tmp_path / "letters.csv")
    assert table.columns == ["id", "body", "team", "created", "hours", "tags"]
    assert [
        dict(zip(table.columns, cells, strict=True)) for _, cells in table.rows
    ] == make_tickets()
    assert open_source(tmp_path / "new.csv").columns == ["id", "body", "created"]
    cofactor("demo", "--table", tmp_path / "letters.csv")  # the same letters again
    (tmp_path / "letters.csv").unlink()
    (tmp_path / "new.csv").write_text("id,body\n")
    refused = cofactor("demo", "--table", tmp_path / "letters.csv", code=2)
    assert "new.csv is another table" in refused.stderr
    assert (tmp_path / "new.csv").read_text() == "id,body\n"
    assert not (tmp_path / "letters.csv").exists()


@pytest.mark.parametrize(
    "name", ["letters.tsv", "letters.jsonl", "letters.parquet", "letters.xlsx"]
)
def test_other_formats(tmp_path, name):
    write_tickets(tmp_path / name)
    assert sum(1 for _ in open_source(tmp_path / name).rows) == 240
