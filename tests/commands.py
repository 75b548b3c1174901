"""Tables for the tests of the command line, and ways to run it."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
from click.testing import CliRunner

from cofactor.cli import main

_WORDS = {
    "space": "orbit rocket moon launch shuttle planet satellite telescope crater nasa",
    "sport": "goal hockey puck league referee stadium coach season striker penalty",
    "food": "recipe oven butter sugar flour garlic onion pasta sauce cheese",
}
WORDS = {name: words.split() for name, words in _WORDS.items()}


def make_rows(n=90, seed=0, every=2):
    """Rows of id, body, team; one label in ``every``."""
    random, rows, names = np.random.default_rng(seed), [], list(WORDS)
    for i in range(n):
        name = names[i % 3]
        body = " ".join([*random.choice(WORDS[name], 8), *random.choice(WORDS[names[i % 2]], 1)])
        rows.append([str(i), body, name if i % every == 0 or i < 6 else ""])
    return rows


def write_table(path, rows, columns=("id", "body", "team")):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    return header, rows


def cofactor(*arguments, code=0, **options):
    """Run the command in this process and check how it ends."""
    done = CliRunner().invoke(main, [str(one) for one in arguments], **options)
    assert done.exit_code == code, (done.exit_code, done.stdout, done.stderr, done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done


def answer(*arguments, **options):
    """Run with --json and return what is on stdout."""
    return json.loads(cofactor(*arguments, "--json", **options).stdout)


def process(*arguments, **options):
    """Run the command as a separate process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **options.pop("env", {})}
    command = [sys.executable, "-m", "cofactor", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=environment, check=False, **options)
