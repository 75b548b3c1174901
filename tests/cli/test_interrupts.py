"""Ctrl-C ends the command with 130 and one line, also while modules are being imported."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, runpy, signal, sys

class InterruptImport:
    modules = 0
    def find_spec(self, name, path=None, target=None):
        self.modules += 1
        if os.environ["INTERRUPTED_MODULE"] == f"compiled {name}":
            self.break_import()
        if os.environ["INTERRUPTED_MODULE"] in (name, str(self.modules)):
            os.kill(os.getpid(), signal.SIGINT)

    def break_import(self):  # as numpy's import_array does
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            sys.excepthook(*sys.exc_info())
        raise ImportError("numpy._core.multiarray failed to import") from None

sys.meta_path.insert(0, InterruptImport())
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("cofactor", run_name="__main__")
"""


@pytest.mark.parametrize(
    "module",
    [
        "cofactor.cli",
        "click",
        "cofactor.cli.predict",
        "numpy",
        "scipy.sparse",
        "sklearn.base",
        "cofactor.text",
        "cofactor.engine.kernels",
        "compiled scipy.sparse",
        "compiled sklearn.base",
        *map(str, range(60, 600, 90)),  # the module with this number
    ],
)
def test_ctrl_c_during_an_import(home, model, tmp_path, module):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    arguments = ["predict", model, home / "new.csv", "-o", tmp_path / "out.csv"]
    done = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "INTERRUPTED_MODULE": module},
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("Interrupted")
    assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ["script.py"]
