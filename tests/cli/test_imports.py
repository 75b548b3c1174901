"""Commands do not import optional heavy libraries that they do not use."""

import os
import subprocess
import sys

HEAVY = {"altair", "dask", "distributed", "matplotlib", "starlette", "uvicorn"}


def test_a_fit_imports_no_library_for_reports_or_clusters(home, tmp_path):
    code = (
        "import sys; from cofactor.cli import main; main(sys.argv[1:], standalone_mode=False);"
        f"print(sorted({HEAVY} & sys.modules.keys()))"
    )
    arguments = ["fit", home / "posts.csv", "--text", "body", "-k", "2", "-o", tmp_path / "model"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
