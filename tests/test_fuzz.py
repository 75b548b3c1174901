"""A sample of the cases of fuzz.py: damaged folders and requests are harmless."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cofactor.distributed", reason="needs cofactor[dask]")
pytest.importorskip("model2vec", reason="needs cofactor[encoder]")
pytest.importorskip("uvicorn", reason="needs cofactor[app]")
pytestmark = pytest.mark.slow
FUZZ = Path(__file__).with_name("fuzz.py")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads its size from /proc")
@pytest.mark.parametrize(
    ("target", "count"),
    [("rowblocks", 20), ("checkpoints", 20), ("models", 20), ("encoders", 20), ("requests", 200)],
)
def test_what_is_damaged_is_used_alike_or_refused(target, count):
    command = [sys.executable, FUZZ, target, "--count", str(count), "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} cases" in done.stdout
    assert " 0 failures" in done.stdout
