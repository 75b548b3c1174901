"""Ten thousand damaged model folders: each gives the same model or one clear error."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from cofactor import ModelFormatError, load_model
from cofactor.io.models import manifest
from cofactor.io.models.samples import SAMPLES
from model_folders import read_all, replace, same


def mutate(data, random):
    """Flip, cut, repeat, insert or exchange bytes."""
    place = int(random.integers(len(data)))
    other = int(random.integers(len(data)))
    low, high = min(place, other), max(place, other)
    digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    kind = random.integers(7 if digits else 5)
    if kind == 0:
        return (
            data[:place] + bytes([data[place] ^ (1 << int(random.integers(8)))]) + data[place + 1 :]
        )
    if kind == 1:
        return data[:place]
    if kind == 2:
        return data[:low] + data[high:]
    if kind == 3:
        return data[:high] + data[low:high] + data[high:]
    if kind == 4:
        return data[:place] + random.bytes(int(random.integers(1, 9))) + data[place:]
    if kind == 5:
        place = digits[int(random.integers(len(digits)))]
        return data[:place] + b"%d" % random.integers(10**6) + data[place + 1 :]
    return data[:place] + random.bytes(min(16, len(data) - place)) + data[place + 16 :]


@pytest.mark.slow
def test_ten_thousand_mutated_copies(model, tmp_path):
    resource = pytest.importorskip("resource")
    fast = Path("/dev/shm")
    home = fast / f"cofactor-{os.getpid()}" if os.access(fast, os.W_OK) else tmp_path / "fast"
    try:
        model.save(home)
        originals = {path.name: path.read_bytes() for path in home.iterdir()}
        names = [*manifest.FILES, SAMPLES, "manifest.json"]
        random, refused = np.random.default_rng(0), 0
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(10_000):
            name = names[i % len(names)] if i % 50 else "README.md"
            data = mutate(originals[name], random)
            if name.endswith("npz") and i % 2:  # look past the digest of the whole file
                replace(home, name, data)
            else:
                (home / name).write_bytes(data)
            try:
                again = read_all(load_model(home))
            except ModelFormatError:
                refused += 1
            else:
                assert same(model, again)
            (home / name).write_bytes(originals[name])
            (home / "manifest.json").write_bytes(originals["manifest.json"])
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    finally:
        shutil.rmtree(home, ignore_errors=True)
    assert refused > 9000
    assert grown < 64 * 1024  # kilobytes
