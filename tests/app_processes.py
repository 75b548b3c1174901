"""The app as a user starts it: a separate process.

Set COFACTOR_APP_PYTHON to a Python that has the wheel installed to start that one, not the
checkout; `.ci/test_wheel.py` does so.
"""

import os
import subprocess
import sys
from pathlib import Path

import cofactor

INSTALLED = os.environ.get("COFACTOR_APP_PYTHON")


def start_app(table, *options):
    """Start the command on a table with a column body; the model is beside the table."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if not INSTALLED:
        own["PYTHONPATH"] = str(Path(cofactor.__file__).parents[1])
    return subprocess.Popen(
        [
            INSTALLED or sys.executable,
            "-m",
            "cofactor",
            "app",
            str(table),
            "--text",
            "body",
            "-k",
            "4",
            "--port",
            "0",
            "--no-open",
            "--model",
            str(table.parent / "model"),
            *options,
        ],
        stderr=subprocess.PIPE,
        text=True,
        env=own,
        cwd=table.parent,
    )
