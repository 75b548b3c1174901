"""Bad input ends with 2 and one sentence on stderr; nothing is written."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from array import array

import pytest

from cofactor.cli import COMMANDS, main
from cofactor.io.tables.writers import is_formula
from commands import answer, cofactor, make_rows, process, read_table, write_table

HOSTILE = [
    "<script>alert(1)</script>",
    "</title>",
    "javascript:alert(1)",
    "a\u2028b",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "[bold]x[/bold]",
    ":smile:",
    "\x1b[31mred",
    "\u202eabc",
    "%s%n{0}",
    "../../etc/passwd",
    "'; DROP TABLE x;--",
    '"quoted"',
    "a,b;c\td",
    "NULL",
    "ünïcödé",
    "𝕏" * 3,
    "\ufeffmark",
    "line\nbreak",
    "\\",
    "`id`",
    "$(id)",
    "&amp;",
    "<img src=x onerror=y>",
    "-- comment",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "<!--",
    "]]>",
    "data:text/html,x",
    "\u200bhidden",
    "\u2066iso\u2069",
    "\x7fdel",
    "\x08back",
    "\x0bvt",
    "a\x85b",
    "＝1+1",
    "＠x",
    "CON",
    "nan",
    "#REF!",
    "=HYPERLINK(1)",
    "=2+5+cmd|'x'!A0",
    "%0a%0d",
    "</script><svg/onload=1>",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_json(command):
    done = cofactor(command, "--help")
    assert "--json" in done.stdout
    first = " ".join(done.stdout.split("\n\n")[1].split())
    assert first == COMMANDS[command]
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_no_numerical_library(arguments):
    code = (
        "import sys; from cofactor.cli import main; main(sys.argv[1:], standalone_mode=False);"
        "print(sorted({'numba', 'numpy', 'pandas', 'scipy', 'sklearn'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.endswith("[]\n"), done.stdout + done.stderr


def test_check_needs_no_numerical_library(home):
    code = (
        "import sys; from cofactor.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "print(sorted({'numba', 'numpy', 'scipy', 'sklearn'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "check", home / "posts.csv", "--text", "body"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.endswith("[]\n"), done.stdout + done.stderr


def test_commands_and_options_are_suggested():
    assert "Did you mean 'predict'?" in cofactor("predcit", code=2).stderr
    assert "There are 'check'" in cofactor("zzz", code=2).stderr
    assert "--text" in cofactor("check", os.devnull, "--txt", "a", code=2).stderr


def test_paths_are_suggested(home, model, tmp_path):
    said = cofactor("check", home / "pots.csv", "--text", "body", code=2).stderr
    assert f"Did you mean {str(home / 'posts.csv')!r}?" in said
    said = cofactor("topics", model.parent / "modle", code=2).stderr
    assert f"Did you mean {str(model)!r}?" in said
    assert "Did you mean" not in cofactor("topics", tmp_path / "no" / "model", code=2).stderr


REFUSED = {
    "no such table": (["check", "{tmp}/no.csv"], "does not exist"),
    "no such column": (["check", "{posts}", "--text", "bodi"], "Did you mean 'body'?"),
    "no such label": (
        ["fit", "{posts}", "--text", "body", "--label", "taem", "-o", "{tmp}/m"],
        "--label 'taem' is not a column",
    ),
    "no text column": (["fit", "{posts}", "-o", "{tmp}/m"], "--text is missing"),
    "no output": (["fit", "{posts}", "--text", "body"], "--output"),
    "no topics": (
        ["fit", "{posts}", "--text", "body", "-k", "0", "-o", "{tmp}/m"],
        "'0' is not a whole number of at least 1.",
    ),
    "topics in words": (
        ["fit", "{posts}", "--text", "body", "-k", "abc", "-o", "{tmp}/m"],
        "'abc' is not a whole number of at least 1.",
    ),
    "seed": (
        ["fit", "{posts}", "--text", "body", "--seed", "4294967296", "-o", "{tmp}/m"],
        "'4294967296' is not a whole number from 0 to 4,294,967,295.",
    ),
    "infinite supervision": (
        ["fit", "{posts}", "--text", "body", "--supervision", "inf", "-o", "{tmp}/m"],
        "'--supervision': 'inf' is not a finite number of at least 0.",
    ),
    "no supervision": (
        ["fit", "{posts}", "--text", "body", "--supervision", "nan", "-o", "{tmp}/m"],
        "'--supervision': 'nan' is not a finite number",
    ),
    "negative supervision": (
        ["fit", "{posts}", "--text", "body", "--supervision", "-0.5", "-o", "{tmp}/m"],
        "'--supervision': '-0.5' is not a finite number",
    ),
    "report to a folder": (["report", "{model}", "-o", "{tmp}"], "{tmp} is a folder; name a file."),
    "predict to a folder": (
        ["predict", "{model}", "{posts}", "-o", "{tmp}"],
        "{tmp} is a folder; name a file.",
    ),
    "export of a file to a folder": (
        ["export", "{model}", "--to", "anndata", "-o", "{tmp}"],
        "{tmp} is a folder; name a file.",
    ),
    "report of the demo to a folder": (["demo", "--report", "{tmp}"], "is a folder; name a file."),
    "very many topics": (
        ["fit", "{posts}", "--text", "body", "-k", "999999999999", "-o", "{tmp}/m"],
        "-k 999999999999 asks for more topics than there are",
    ),
    "pipe for stop words": (
        ["fit", "{posts}", "--text", "body", "--stop-words", "{pipe}", "-o", "{tmp}/m"],
        "is not a plain file",
    ),
    "pipe for a table": (
        ["predict", "{model}", "{pipe}", "-o", "{tmp}/o.csv"],
        "is not a plain file",
    ),
    "output is a file": (["fit", "{posts}", "--text", "body", "-o", "{posts}"], "is a file"),
    "output is a folder": (["fit", "{posts}", "--text", "body", "-o", "{home}"], "other files"),
    "separator": (["check", "{posts}", "--separator", "ab"], "must be one character"),
    "encoding": (["check", "{posts}", "--encoding", "no"], "--encoding 'no' is not known"),
    "seed words": (
        ["fit", "{posts}", "--text", "body", "--seed-words", "x", "-o", "{tmp}/m"],
        "billing=invoice,refund",
    ),
    "unknown seed": (
        ["fit", "{posts}", "--text", "body", "--seed-words", "x=qqq", "-o", "{tmp}/m"],
        "qqq",
    ),
    "class weight": (
        [
            "fit",
            "{posts}",
            "--text",
            "body",
            "--label",
            "team",
            "--class-weight",
            "food",
            "-o",
            "{tmp}/m",
        ],
        "a class and its weight, like spam=5",
    ),
    "class weights": (
        [
            "fit",
            "{posts}",
            "--text",
            "body",
            "--label",
            "team",
            "--class-weight",
            "balanced",
            "--class-weight",
            "food=2",
            "-o",
            "{tmp}/m",
        ],
        "leave out 'food=2'",
    ),
    "negative class weight": (
        [
            "fit",
            "{posts}",
            "--text",
            "body",
            "--label",
            "team",
            "--class-weight",
            "food=-2",
            "-o",
            "{tmp}/m",
        ],
        "at least 0",
    ),
    "unknown class": (
        [
            "fit",
            "{posts}",
            "--text",
            "body",
            "--label",
            "team",
            "--class-weight",
            "foot=2",
            "-o",
            "{tmp}/m",
        ],
        "has a weight for 'foot', which is not a class of the label column. Did you mean 'food'?",
    ),
    "class weight without classes": (
        ["fit", "{posts}", "--text", "body", "--class-weight", "balanced", "-o", "{tmp}/m"],
        "the task of this fit is",
    ),
    "stop words": (
        ["fit", "{posts}", "--text", "body", "--stop-words", "no", "-o", "{tmp}/m"],
        "--stop-words 'no'",
    ),
    "jobs": (["fit", "{posts}", "--text", "body", "--jobs", "0", "-o", "{tmp}/m"], "--jobs 0"),
    "task": (
        ["fit", "{posts}", "--text", "body", "--task", "classes", "-o", "{tmp}/m"],
        "needs labels",
    ),
    "numbers": (
        [
            "fit",
            "{posts}",
            "--text",
            "body",
            "--label",
            "team",
            "--task",
            "numbers",
            "-o",
            "{tmp}/m",
        ],
        "row 2: the label 'space' is not a number",
    ),
    "words left": (["fit", "{posts}", "--text", "id", "-o", "{tmp}/m"], "No words are left"),
    "no model": (["topics", "{tmp}"], "it is not a model"),
    "no folder": (["topics", "{tmp}/no"], "Error: {tmp}/no: it does not exist; name the folder"),
    "a file for a model": (["predict", "{posts}", "{posts}"], "is a file"),
    "other columns": (["predict", "{model}", "{other}"], "fitted on the column 'body'"),
    "no folder for the output": (
        ["predict", "{model}", "{posts}", "-o", "{tmp}/no/a.csv"],
        "does not exist; create it first",
    ),
    "unknown format": (["predict", "{model}", "{posts}", "-o", "{tmp}/a.ods"], "'.ods'"),
    "nothing to explain": (["explain", "{model}", "  "], "TEXT is empty"),
    "export over a model": (["export", "{model}", "-o", "{model}"], "is a model"),
    "unknown target": (["export", "{model}", "--to", "excel"], "excel"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_ends_with_two(home, tmp_path, case):
    arguments, said = REFUSED[case]
    write_table(tmp_path / "other.csv", [["a", "b"]], ("x", "y"))
    names = {
        "home": home,
        "posts": home / "posts.csv",
        "model": home / "model",
        "tmp": tmp_path,
        "other": tmp_path / "other.csv",
        "pipe": home / "pipe",
    }
    if not (home / "pipe").exists():
        os.mkfifo(home / "pipe")
    done = cofactor(*(one.format(**names) for one in arguments), code=2)
    assert said.format(**names) in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert sorted(os.listdir(tmp_path)) == ["other.csv"]


def test_predictions_do_not_replace_their_own_table(home, model, tmp_path):
    table = write_table(tmp_path / "own.csv", [["1", "the rocket", "space"]])
    before = table.read_bytes()
    done = cofactor("predict", model, table, "-o", table, code=2)
    assert "is the table itself; name another file" in done.stderr
    assert table.read_bytes() == before


def test_texts_are_no_labels(tmp_path):
    rows = [[str(i), f"rocket number {i}", f"text {i}"] for i in range(80)]
    table = write_table(tmp_path / "texts.csv", rows)
    options = ["--text", "body", "--label", "team", "-k", 2, "-o", tmp_path / "m"]
    done = cofactor("fit", table, *options, code=2)
    assert "80 classes for 80 labels: is this the column of the labels?" in done.stderr
    assert "--task classes" in done.stderr
    assert not (tmp_path / "m").exists()
    said = cofactor("check", table, *options[:4]).stdout
    assert "is this the column of the labels?" in said
    assert "--label" not in said.split("Next:")[1]


def test_numbers_are_no_texts(tmp_path):
    table = write_table(tmp_path / "numbers.csv", [[str(i), str(i / 7), ""] for i in range(60)])
    said = " ".join(cofactor("check", table, "--text", "body").stdout.split())
    assert "60 documents are without a word: is this the column of the texts?" in said


def test_more_topics_than_documents_are_refused(tmp_path):
    table = write_table(tmp_path / "few.csv", make_rows(6))
    few = ("fit", table, "--text", "body", "--iterations", 2, "-o", tmp_path / "m")
    said = cofactor(*few, "-k", 9, code=2).stderr
    assert "-k 9 asks for more topics than there are documents (6)" in said
    assert not (tmp_path / "m").exists()
    assert "3 topics in 6 documents" in cofactor(*few).stderr
    assert answer("topics", tmp_path / "m")["topics"][-1]["topic"] == 2


def test_bytes_that_are_no_text_are_said_in_one_sentence(home, tmp_path, monkeypatch):
    """An error whose class takes more than a message."""
    monkeypatch.setattr("cofactor.text.TopicModel.fit", lambda *_, **__: b"\xff".decode("utf-8"))
    done = cofactor("fit", home / "posts.csv", "--text", "body", "-o", tmp_path / "m", code=2)
    assert "can't decode byte 0xff in position 0" in done.stderr


def test_parameters_are_called_by_their_options(tmp_path):
    table = write_table(tmp_path / "empty.csv", [["1", "the and of", ""], ["2", "a", ""]])
    done = cofactor("fit", table, "--text", "body", "-o", tmp_path / "m", code=2)
    assert "--stop-words none keeps grammatical words" in done.stderr
    table = write_table(tmp_path / "few.csv", make_rows(12))
    seeds = [word for name in "abc" for word in ("--seed-words", f"{name}=moon")]
    done = cofactor("fit", table, "--text", "body", "-k", 2, *seeds, "-o", tmp_path / "m", code=2)
    assert "there are only 2 topics; raise -k or merge seeds" in done.stderr
    done = cofactor(
        "fit", table, "--text", "body", "-k", 2, "--seed-words", "a=moon,zzz", "-o", tmp_path / "m"
    )
    assert "--seed-words 'a': ['zzz'] are ignored" in done.stderr


def test_an_estimator_is_no_topic_model(tmp_path):
    import numpy as np

    import cofactor as package

    package.save(package.NMF(2).fit(np.eye(4)), tmp_path / "m")
    assert "holds a NMF" in cofactor("topics", tmp_path / "m", code=2).stderr


def test_a_broken_model_gives_one_sentence(model, tmp_path):
    import shutil

    shutil.copytree(model, tmp_path / "m")
    (tmp_path / "m" / "factors.npz").write_bytes(b"no")
    done = cofactor("predict", tmp_path / "m", os.devnull, code=2)
    assert "factors.npz" in done.stderr


def test_a_bad_row_leaves_the_old_output(home, model, tmp_path):
    (tmp_path / "bad.csv").write_text("id,body\n1,moon\n2\n")
    (tmp_path / "out.csv").write_text("old")
    out = ("-o", tmp_path / "out.csv", "--force")
    done = cofactor("predict", model, tmp_path / "bad.csv", *out, code=2)
    assert "row 3 has 1 cell" in done.stderr
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "out.csv"]


def test_no_report_package_says_what_to_install(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cofactor.report.html", None)
    done = cofactor("report", model, "-o", tmp_path / "r.html", code=2)
    assert "pip install 'cofactor[report]'" in done.stderr


def test_no_dask_says_what_to_install(home, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cofactor.distributed", None)
    done = cofactor(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "-k",
        2,
        "--cluster",
        "local",
        "-o",
        tmp_path / "m",
        code=2,
    )
    assert "--cluster needs a package that is not installed" in done.stderr
    assert "pip install 'cofactor[dask]'." in done.stderr
    assert "report" not in done.stderr


def test_ctrl_c_while_predicting_leaves_nothing_behind(home, model, tmp_path, monkeypatch):
    from cofactor.text.describe import answers

    def interrupted(model, documents):
        raise KeyboardInterrupt

    monkeypatch.setattr(answers, "answer_documents", interrupted)
    done = cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv", code=130)
    assert "Interrupted; no file was changed." in done.stderr
    assert os.listdir(tmp_path) == []


def test_ctrl_c_after_printed_rows_does_not_say_that_nothing_changed(home, model, monkeypatch):
    from cofactor.cli import predict

    def interrupted(writer, *arguments):
        writer.write(["1", "moon"])
        raise KeyboardInterrupt

    monkeypatch.setattr(predict, "_write", interrupted)
    done = cofactor("predict", model, home / "new.csv", code=130)
    assert done.stdout == "id,body,prediction,confidence,topic,reason,unlike\n1,moon\n"
    assert done.stderr.endswith("Interrupted.\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_output_and_manifest_leaves_both(
    home, model, tmp_path, monkeypatch, number
):
    real = os.replace

    def replace(old, new):
        real(old, new)
        signal.raise_signal(number)

    monkeypatch.setattr(os, "replace", replace)
    done = cofactor(
        "predict", model, home / "new.csv", "-o", tmp_path / "out.csv", code=128 + number
    )
    assert done.stderr.splitlines()[-1] in ("Interrupted.", "Terminated.")
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.csv.manifest.json"]


def test_a_manifest_that_cannot_be_written_leaves_the_old_output(home, model, tmp_path):
    (tmp_path / "out.csv").write_text("old")
    (tmp_path / "out.csv.manifest.json").mkdir()
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv", "--force", code=1)
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A model whose documents, classes and file name are hostile."""
    folder = tmp_path_factory.mktemp("h") / "=1+1 <b>.csv"
    rows = make_rows(4 * len(HOSTILE), every=1)
    for i, row in enumerate(rows):
        row[1] = f"{HOSTILE[i % len(HOSTILE)]} {row[1]}"
        row[2] = HOSTILE[i % len(HOSTILE)]
    table = write_table(folder, rows)
    cofactor(
        "fit",
        table,
        "--text",
        "body",
        "--label",
        "team",
        "-k",
        30,
        "-o",
        folder.parent / "m",
        "--iterations",
        20,
    )
    return folder.parent / "m", table


@pytest.mark.slow
def test_no_output_has_a_formula_cell(hostile, tmp_path):
    model, table = hostile
    cofactor("predict", model, table, "-o", tmp_path / "out.csv")
    cofactor("export", model, "-o", tmp_path / "tables")
    for path in [tmp_path / "out.csv", *(tmp_path / "tables").glob("*.csv")]:
        header, rows = read_table(path)
        assert rows
        assert not [cell for row in [header, *rows] for cell in row if is_formula(cell)]


def test_formulas_can_be_kept(hostile, tmp_path):
    model, table = hostile
    cofactor("predict", model, table, "-o", tmp_path / "out.csv", "--keep-formulas")
    _, rows = read_table(tmp_path / "out.csv")
    _, given = read_table(table)
    assert [row[:3] for row in rows] == given


@pytest.mark.parametrize("verb", ["topics", "check", "explain", "compare"])
def test_the_terminal_sees_no_control_characters(hostile, verb):
    model, table = hostile
    arguments = {
        "topics": [model],
        "check": [table, "--text", "body", "--label", "team"],
        "explain": [model, " ".join(HOSTILE) + " moon"],
        "compare": [model, model],
    }[verb]
    done = cofactor(verb, *arguments)
    for line in (done.stdout + done.stderr).split("\n"):
        assert line.isprintable(), repr(line)
    assert max(map(len, done.stdout.splitlines())) <= 80 or verb == "check"


def test_data_goes_to_stdout_and_everything_else_to_stderr(home, model):
    done = process("predict", model, home / "new.csv")
    assert done.returncode == 0
    assert done.stdout.startswith(b"id,body,prediction")
    assert len(done.stdout.splitlines()) == 31
    assert b"Wrote 30 rows" in done.stderr
    assert process("topics", model / "no").returncode == 2


def test_output_survives_an_ascii_terminal(tmp_path):
    table = write_table(tmp_path / "a.csv", [["süß", "Käse"]] * 3, ("body", "team"))
    done = process(
        "check", table, "--text", "body", "--label", "team", env={"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0
    assert b"K\\xe4se" in done.stdout or "Käse".encode() in done.stdout


def test_a_closed_pipe_ends_quietly(home, model):
    command = f"{sys.executable} -m cofactor predict {model} {home / 'new.csv'} | head -1"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, shell=True, capture_output=True, env=environment, check=False)
    assert done.stdout.startswith(b"id,body")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("table", ["-", "/dev/stdin", "/dev/fd/0"])
def test_a_table_may_come_on_standard_input(home, table):
    data = (home / "new.csv").read_bytes()
    done = process("check", table, "--text", "body", "--json", input=data)
    assert done.returncode == 0, done.stderr
    expected = answer("check", home / "new.csv", "--text", "body")
    found = json.loads(done.stdout)
    assert (found["rows"], found["sha256"]) == (expected["rows"], expected["sha256"])
    named = found["next"].split(" fit ")[1].split()[0]
    assert named == ("-" if table in ("-", "/dev/stdin") else table)


def test_a_table_that_came_on_standard_input_is_not_read_again(home, tmp_path):
    data = (home / "posts.csv").read_bytes()
    options = ["--text", "body", "--label", "team", "-k", 3, "-o", tmp_path / "m"]
    assert process("fit", "-", *options, input=data).returncode == 0
    done = process("verify", tmp_path / "m", input=data)
    assert done.returncode == 2
    assert b"name it with --data" in done.stderr
    cofactor("verify", tmp_path / "m", "--data", home / "posts.csv")


def test_a_table_may_come_by_process_substitution(home):
    command = f"{sys.executable} -m cofactor check <(cat {home / 'new.csv'}) --text body --json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=environment, check=True)
    assert json.loads(done.stdout)["rows"] == 30


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "There is not enough memory; use fewer"),
        (MemoryError("Unable to allocate 8 TiB"), "enough memory (Unable to allocate 8 TiB); use"),
    ],
)
def test_too_little_memory_is_said_in_one_sentence(home, tmp_path, monkeypatch, error, said):
    def exhausted(*arguments, **options):
        raise error

    monkeypatch.setattr("cofactor.text.TopicModel.fit", exhausted)
    done = cofactor("fit", home / "posts.csv", "--text", "body", "-o", tmp_path / "m", code=1)
    assert said in done.stderr
    assert os.listdir(tmp_path) == []


def test_an_array_that_is_too_large_is_said_in_one_sentence(home, tmp_path):
    code = (
        "import resource, sys; from cofactor.cli import main\n"
        "import cofactor.text, sklearn, pandas\n"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + 2**28\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size, size))\n"
        "main(sys.argv[1:], prog_name='cofactor')"
    )
    table = write_table(tmp_path / "t.csv", make_rows(10_000))
    arguments = ["fit", table, "--text", "body", "-k", "9000", "--jobs", "1", "-o", tmp_path / "m"]
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 1, done.stderr
    assert "Error: There is not enough memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["t.csv"]


@pytest.fixture
def start():
    """A function that starts the command as a process whose standard input stays open."""
    started = []

    def begin(*arguments):
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "cofactor", *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        )
        return started[-1]

    yield begin
    for running in started:
        running.kill()
        running.communicate()


def wait_until_read(running, rows=0):
    """Write a header and rows; return when the process has read them and waits for more."""
    running.stdin.write(b"id,body\n" + b"1,the rocket to the moon\n" * rows)
    running.stdin.flush()
    for _ in range(300):
        left = array("i", [0])
        fcntl.ioctl(running.stdin, termios.FIONREAD, left)
        if not left[0]:
            return
        time.sleep(0.1)
    raise AssertionError("the process does not read")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("table", ["/dev/stdin", "-"])
def test_signals_while_reading_say_so_and_write_nothing(start, number, code, table):
    running = start("check", table)
    wait_until_read(running)
    running.send_signal(number)
    _, said = running.communicate(timeout=30)
    assert running.returncode == code
    assert said.count(b"\n") == 1
    assert b"; no file was changed." in said


def predict_until_it_writes(start, model, output):
    running = start("predict", model, "-", "--text", "body", "-o", output)
    wait_until_read(running, rows=60_000)  # more than is read at once
    for _ in range(100):
        if os.listdir(output.parent):
            break
        time.sleep(0.1)
    assert [name.startswith(".out.csv.") for name in os.listdir(output.parent)] == [True]
    return running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_while_predicting_leave_nothing_behind(start, model, tmp_path, number):
    running = predict_until_it_writes(start, model, tmp_path / "out.csv")
    running.send_signal(number)
    running.communicate(timeout=30)
    assert running.returncode == 128 + number
    assert os.listdir(tmp_path) == []


def test_a_killed_predict_is_cleaned_up_by_the_next(start, home, model, tmp_path):
    running = predict_until_it_writes(start, model, tmp_path / "out.csv")
    running.kill()
    running.communicate(timeout=30)
    assert len(os.listdir(tmp_path)) == 1
    cofactor("predict", model, home / "new.csv", "-o", tmp_path / "out.csv")
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.csv.manifest.json"]


@pytest.mark.slow
def test_ctrl_c_while_fitting_keeps_the_model(home, tmp_path, monkeypatch):
    from cofactor import load_model
    from cofactor.engine.solvers.coordinate import CoordinateDescent

    step, calls = CoordinateDescent.step, []

    def interrupted(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return step(self, *arguments, **options)

    monkeypatch.setattr(CoordinateDescent, "step", interrupted)
    done = cofactor(
        "fit",
        home / "posts.csv",
        "--text",
        "body",
        "--label",
        "team",
        "-k",
        3,
        "-o",
        tmp_path / "m",
        code=130,
    )
    stopping = done.stderr.index("Stopping; saving the model ...\n")
    assert stopping < done.stderr.index("Fitting the topics")  # said at once
    assert "Interrupted: the factors are those of iteration 1" in done.stderr
    assert load_model(tmp_path / "m").n_iter_ == 1

    kept = (tmp_path / "m" / "manifest.json").read_bytes()
    for name in ("m-unfinished", "m-unfinished2"):  # what is there stays
        calls.clear()
        done = cofactor(
            "fit",
            home / "posts.csv",
            "--text",
            "body",
            "--label",
            "team",
            "-k",
            3,
            "-o",
            tmp_path / "m",
            code=130,
        )
        assert f"Wrote the model to {tmp_path / name}." in done.stderr
        assert load_model(tmp_path / name).n_iter_ == 1
    assert (tmp_path / "m" / "manifest.json").read_bytes() == kept


def test_the_group_answers_without_a_command():
    assert main.name == "main"
    assert "Commands:" in cofactor("--help").stdout
