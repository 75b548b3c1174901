"""One quick run of everything, for several files to look at."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cofactor.cli import main

STOP_WORDS = "the\na\nan\nof\nand\n"


@pytest.fixture(scope="session")
def stop_words(tmp_path_factory):
    """A file of stop words, so that no test depends on what is installed."""
    file = tmp_path_factory.mktemp("words") / "stop.txt"
    file.write_text(STOP_WORDS)
    return file


@pytest.fixture(scope="session")
def reproduce(stop_words):
    """A function that runs the command in this process."""

    def run(*arguments, code=0):
        given = ["reproduce", *map(str, arguments)]
        result = CliRunner(env={"COFACTOR_DATA_HOME": None, "COLUMNS": "400"}).invoke(main, given)
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return run


@pytest.fixture(scope="session")
def common_arguments(stop_words):
    """What a quick run of one experiment needs to find the trials of the run of all."""
    return ("--quick", "--seed", "1", "--stopwords", stop_words)


@pytest.fixture(scope="session")
def quick_arguments(common_arguments):
    return ("all", *common_arguments, "--draws", "2", "--updates", "20")


@pytest.fixture(scope="session")
def quick(reproduce, quick_arguments, tmp_path_factory):
    """The output folder of a whole quick run and what it printed."""
    out = tmp_path_factory.mktemp("quick") / "out"
    result = reproduce(*quick_arguments, "--out", out, "--jobs", "1")
    return out, result


@pytest.fixture
def finished(quick, tmp_path):
    """A copy of a finished folder that a test may spoil."""
    return Path(shutil.copytree(quick[0], tmp_path / "out"))
