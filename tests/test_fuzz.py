"""A sample of the cases of fuzz.py: damaged folders are read alike, or refused by the one error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cofactor.distributed", reason="needs cofactor[dask]")
pytest.importorskip("model2vec", reason="needs cofactor[encoder]")
pytestmark = pytest.mark.slow
FUZZ = Path(__file__).with_name("fuzz.py")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads its size from /proc")
def test_damaged_folders_are_read_alike_or_refused():
    command = [sys.executable, FUZZ, "all", "--count", "20", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("20 cases") == 4
    assert done.stdout.count(" 0 failures") == 4
