"""Compiled kernels are cached and loaded again."""

import os
import subprocess
import sys


def test_machine_code_is_kept_and_loaded_without_the_compiler(tmp_path):
    code = (
        "import sys, numpy as np; from cofactor.engine.kernels import widen\n"
        "out = np.zeros((3, 4)); widen(np.ones((3, 2)), out)\n"
        "assert out[:, :2].all() and out.sum() == 6\n"
        "print(sum(widen.stats.cache_hits.values()), 'numba.np.linalg' in sys.modules)"
    )
    paths = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **paths}, text=True,
            capture_output=True, check=True,
        ).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert said == [["0", "True"], ["1", "False"]]


def test_kernels_without_a_cache_warn_once():
    code = (
        "from numba.core.caching import FunctionCache\n"
        "def refuse(*_): raise RuntimeError('no folder for the cache')\n"
        "FunctionCache.__init__ = refuse\n"
        "import cofactor.engine.kernels"
    )
    said = subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        capture_output=True,
        check=True,
    ).stderr
    assert said.count("cofactor cannot keep its compiled kernels on disk") == 1
    assert "set NUMBA_CACHE_DIR" in said
