"""A table with everything wrong goes from check to report by the commands that check proposes."""

import shlex
from datetime import date, timedelta

import numpy as np
import pytest

from commands import WORDS, answer, cofactor, read_table, write_table

GERMAN = {
    "space": "umlaufbahn rakete mond start raumfähre planet satellit fernrohr krater weltall",
    "sport": "tor eishockey scheibe liga schiedsrichter stadion trainer saison stürmer elfmeter",
    "food": "rezept ofen zucker mehl knoblauch zwiebel nudeln soße käse teig",
}
GRAMMAR = (
    "this is what they have for the and with that was not",
    "das ist nicht für die und mit dem sie haben wurde oder auch",
)
COLUMNS = ("ticket", "body", "when", "team")
MARKUP = [
    "<b>{}</b>",
    "{}&nbsp;",
    "&quot;{}&quot;",
    "{}<br/>",
    "{}&amp;nbsp;",
    "{} nbsp;",
    "{} http://www.example.org/a?b=1&amp;c=2",
    "{} info@example.org",
    '<a href="/x" class="link">{}</a>',
    "<!-- href --> {}",
]
REMNANTS = {
    "nbsp",
    "quot",
    "amp",
    "href",
    "http",
    "https",
    "www",
    "example",
    "org",
    "br",
    "link",
    "class",
    "info",
    "div",
    "lt",
    "gt",
}


def make_texts(n, seed):
    """Texts of two languages with their classes; a third of the words belong to any class."""
    random = np.random.default_rng(seed)
    languages = ({name: words.split() for name, words in GERMAN.items()}, WORDS)
    for i in range(n):
        name, words = list(WORDS)[i % 3], languages[i // 3 % 2]
        others = sorted(word for some in words.values() for word in some)
        grammar = random.choice(GRAMMAR[i // 3 % 2 == 0].split(), 5)
        body = [*random.choice(words[name], 4), *random.choice(others, 4), *grammar]
        yield " ".join(random.permutation(body)), name


def spoil(body, random):
    words = [
        random.choice(MARKUP).format(word) if random.random() < 0.3 else word
        for word in body.split()
    ]
    return f'<div class="post">{" ".join(words)}</div>'


def misspell(name, i):
    spellings = {
        1: name.upper(),
        12: f"{name.title()} ",
        23: name[0] + name[2] + name[1] + name[3:],
    }
    return "n/a" if i % 10 == 4 else spellings.get(i % 30, name)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("messy"), np.random.default_rng(0)
    clean, messy = [], []
    for i, (body, name) in enumerate(make_texts(300, seed=0)):
        when, label = date(2024, 1, 1) + timedelta(i), misspell(name, i)
        clean.append([f"T-{i:04}", body, when, "" if label == "n/a" else name])
        messy.append([f"T-{i:04}", spoil(body, random), when.strftime("%d.%m.%Y"), label])
        if i % 25 == 0:
            messy += [[f"R-{i:04}", *messy[-1][1:]], [f"E-{i:04}", "<br>&nbsp;", "1.2.2024", ""]]
    write_table(folder / "clean.csv", clean, COLUMNS)
    write_table(folder / "messy.csv", messy, COLUMNS)
    new = [[f"N-{i:04}", body, "", name] for i, (body, name) in enumerate(make_texts(300, seed=1))]
    write_table(folder / "new.csv", new, COLUMNS)
    return folder


def follow(table, model):
    """Run check, then what it proposes until a model is written; return what fit answers."""
    command = [
        "check",
        table,
        "--text",
        "body",
        "--label",
        "team",
        "--id",
        "ticket",
        "--date",
        "when",
    ]
    while command[0] == "check":
        screen = cofactor(*command).stdout
        command = shlex.split(screen.split("Next: cofactor ")[1])
        if "--write-relabels" in command:
            command[-1] = str(table.with_name(command[-1]))
    return answer(*command[:-1], model)


def accuracy(model, table):
    cofactor("predict", model, table, "-o", model.with_suffix(".csv"))
    header, rows = read_table(model.with_suffix(".csv"))
    known, said = (header.index(name) for name in ("team", "prediction"))
    return np.mean([row[known] == row[said] for row in rows])


@pytest.mark.slow
def test_a_messy_table_is_as_good_as_a_clean_one(tables, tmp_path):
    pytest.importorskip("altair")
    follow(tables / "clean.csv", tmp_path / "clean")
    found = follow(tables / "messy.csv", tmp_path / "messy")
    assert found["classes"] == sorted(WORDS)
    best, ours = (accuracy(tmp_path / name, tables / "new.csv") for name in ("clean", "messy"))
    assert 0.6 < best < 1  # neither too hard nor too easy to tell a difference
    assert ours >= best - 0.01
    topics = answer("topics", tmp_path / "messy", "--words", 10)["topics"]
    assert not REMNANTS & {word for topic in topics for word in topic["words"]}
    assert all(topic["words"] for topic in topics)
    cofactor(
        "report", tmp_path / "messy", "--data", tables / "messy.csv", "-o", tmp_path / "r.html"
    )
    assert "T-0000" in (tmp_path / "r.html").read_text("utf-8")
