"""Commands do not import heavy libraries that they do not use."""

import os
import subprocess
import sys

import pytest

HEAVY = {"altair", "dask", "distributed", "matplotlib", "starlette", "uvicorn"}
NUMERICAL = {"sklearn", "scipy.stats", "scipy.optimize", "scipy.linalg", "pandas", "pyarrow"}


def imported(*arguments):
    """Run a command in a new interpreter; return the libraries that it has imported."""
    code = (
        "import sys; from cofactor.cli import main; main(sys.argv[1:], standalone_mode=False);"
        f"print('imported', *({HEAVY | NUMERICAL} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    label, *found = done.stdout.splitlines()[-1].split()
    assert label == "imported"
    return set(found)


def test_a_fit_imports_no_library_for_reports_or_clusters(home, tmp_path):
    found = imported("fit", home / "posts.csv", "--text", "body", "-k", 2, "-o", tmp_path / "model")
    assert not found & HEAVY


@pytest.mark.parametrize("by", ["coherence", "probability"])
def test_topics_are_shown_without_numerical_libraries(model, by):
    assert imported("topics", model, "--by", by, "--words", 15) == set()


def test_the_doctor_tries_the_kernels_without_scikit_learn():
    assert imported("doctor") == set()
    assert "sklearn" in imported("doctor", "--fit")
