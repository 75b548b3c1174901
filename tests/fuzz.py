"""Damage valid folders at random and see that they are read alike, or refused by the one error.

The target ``requests`` damages requests to the app instead; `request_mutants` says how.

    python tests/fuzz.py rowblocks --count 2000 --seed 0 --jobs 2
    python tests/fuzz.py models --seed 0 --only 17     # run one case again, with its traceback
    python tests/fuzz.py all --count 20                # every target

Each case copies a valid folder, damages the copy, and opens and uses it in a forked process with
limits on time and memory. These outcomes are good:

- equal: the result is that of the valid folder
- refused: the one error of that kind of folder
- legitimate: the digests were made to agree (or the format has none), so that the contents are what
  a user could have written; then another finite result is right, and so is a ValueError or a
  TypeError by which an estimator refuses the data

Everything else is a failure: a signal, a hang, another exception, or another result although the
digests should have told. Ends with 1 if there is one, and prints the numbers to run it again.
"""

import argparse
import copy
import io
import json
import os
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse as sp

from cofactor import (
    NMF,
    Factors,
    ModelFormatError,
    RowBlocks,
    SSNMFClassifier,
    SSNMFRegressor,
    TopicModel,
    load_model,
    save,
)
from cofactor.callbacks import Checkpoint, CheckpointError
from cofactor.io import npy, untrusted
from cofactor.outofcore import RowBlocksError
from cofactor.targets.reading import NamedMatrix
from cofactor.text import CachedEncoder, EncoderCacheError
from cofactor.text.editing import Settled
from cofactor.text.encoders import encode_texts, find_encoder
from request_mutants import fuzz_requests
from static_models import subject_vectors, write_static

TIME = 10
"""Seconds of processor time that a case may take."""
PATIENCE = 60
"""Seconds that a case may take in all, on a machine that also does other work."""
MEMORY = 4 * 2**30
"""Bytes of address space that a case may take beyond those of the process it is forked from."""
GOOD = ("equal", "refused", "legitimate")
TEXTS = [
    "the goalie saved the puck",
    "a late goal won the hockey game",
    "puck and goal",
    "the orbit of the moon",
    "a rocket to the moon",
    "rocket fuel and orbit",
]


# ---- what is damaged


@dataclass(frozen=True)
class Template:
    """A valid folder, how to use it, and how to make its digests agree after a change."""

    name: str
    make: Callable[[Path], None]
    use: Callable[[Path], Any]
    error: type[Exception]
    manifests: Callable[[Path], list[Path]]
    trusting: bool = False
    """Whether the format has no digests."""
    others: tuple[Any, ...] = ()
    """Results that stand for a refusal."""


def resign(folder: Path, found: list[Path], refresh: bool) -> None:
    """Make manifests agree with themselves and, if asked, with the files that they list."""
    for path in found:
        manifest = json.loads(path.read_bytes())
        if refresh:
            _refresh(path.parent, manifest)
        path.write_text(json.dumps(untrusted.with_digest(manifest)))


def _refresh(home: Path, manifest: dict[str, Any]) -> None:
    for i, block in enumerate(manifest.get("blocks", [])):
        for name in block["files"]:
            data = (home / f"{i:05d}" / f"{name}.npy").read_bytes()
            block["files"][name] = untrusted.file_facts(data)
    if manifest.get("notes") and "blocks" in manifest:
        manifest["notes"] = untrusted.file_facts((home / "notes.json").read_bytes())
    for name in manifest.get("files", {}):
        manifest["files"][name] = untrusted.file_facts((home / name).read_bytes())
    if "arrays" in manifest:
        from cofactor.io.models.manifest import describe

        with open(home / "factors.npz", "rb") as file:
            held, _ = npy.unpack(file, "factors.npz", manifest["arrays"])
        manifest["arrays"] = {name: describe(held[name]) for name in manifest["arrays"]}


def _data() -> tuple[Any, np.ndarray]:
    draw = np.random.default_rng(0)
    subject = np.arange(24) % 3
    X = draw.poisson(0.3 + 2.0 * (np.arange(6) % 3 == subject[:, None])).astype(float)
    return sp.csr_array(X), subject


def _settings(**more: Any) -> dict[str, Any]:
    return {"max_iter": 2, "tol": 0, "random_state": 0, "n_jobs": 1, "solver": "mu", **more}


def _fitted(model: Any) -> tuple[np.ndarray, ...]:
    names = ("components_", "representation_", "target_components_")
    return tuple(np.asarray(getattr(model, name)) for name in names if hasattr(model, name))


def _row_blocks(name: str) -> Template:
    X, subject = _data()
    kind, y = {
        "labels": (SSNMFClassifier, np.array(["a", "b", None], dtype=object)[subject]),
        "numbers": (SSNMFRegressor, np.where(subject == 2, np.nan, subject * 1.5 - 1)),
        "named": (SSNMFClassifier, NamedMatrix((subject[:, None] == [0, 1]) * 1.0, ["a", "b"])),
        "plain": (NMF, None),
        "schema-1": (SSNMFClassifier, np.array(["a", "b", None], dtype=object)[subject]),
    }[name]

    def make(folder: Path) -> None:
        batch = X if y is None else (X, y)
        RowBlocks.write(folder, [batch], rows=10, notes=lambda: {"words": [*"abcdef"], "n": 1.5})
        if name == "schema-1":
            _downgrade(folder)

    def use(folder: Path) -> Any:
        blocks = RowBlocks.open(folder)
        return *_fitted(kind(2, **_settings()).fit(blocks)), json.dumps(blocks.notes)

    listed = lambda folder: [] if name == "schema-1" else [folder / "blocks.json"]  # noqa: E731
    return Template(name, make, use, RowBlocksError, listed, trusting=name == "schema-1")


def _downgrade(folder: Path) -> None:
    manifest = json.loads((folder / "blocks.json").read_bytes())
    for block in manifest["blocks"]:
        files = block.pop("files")
        block["sizes"] = [[name, facts["bytes"]] for name, facts in files.items()]
        block |= {"labelled": 6, "firsts": [0, 1]}
    del manifest["digest"], manifest["notes"]
    (folder / "blocks.json").write_text(json.dumps({**manifest, "schema": 1}))


def _archive_checkpoint() -> Template:
    X, _ = _data()

    def make(folder: Path) -> None:
        folder.mkdir()
        NMF(2, **_settings()).set_callbacks(Checkpoint(folder / "fit.npz", every=1)).fit(X)

    def use(folder: Path) -> Any:
        init = Checkpoint.load(folder / "fit.npz")
        return _fitted(NMF(2, **_settings(init=init)).fit(X))

    return Template("archive", make, use, CheckpointError, lambda folder: [], trusting=False)


def _folder_checkpoint() -> Template:
    from cofactor.distributed.checkpoints import CheckpointFolder
    from cofactor.engine.fitting import History

    draw, rows = np.random.default_rng(0), (5, 3)
    states = {
        version: (
            [draw.random((n, 2)) for n in rows],
            Factors(np.empty((0, 2)), draw.random((7, 2)), draw.random((3, 2))),
            History([1.0 / k for k in range(1, version + 1)], {"data": [0.5] * version}),
        )
        for version in (2, 4)
    }

    def checkpoints(path: Path) -> CheckpointFolder:
        return CheckpointFolder(path, "fingerprint", states[2][1], rows)

    def make(path: Path) -> None:
        folder = checkpoints(path)
        for version, (samples, factors, history) in states.items():
            place = folder.place(version)
            folder.commit(factors, history, {i: place.write(i, S) for i, S in enumerate(samples)})

    def use(path: Path) -> Any:
        saved = checkpoints(path).newest()
        if saved is None:
            return ()
        origins = [saved.origin.only([i]).samples(None, i) for i in range(len(rows))]
        return *origins, saved.features, saved.targets, repr(saved.history)

    def expected(version: int) -> Any:
        samples, factors, history = states[version]
        return *samples, factors.features, factors.targets, repr(history)

    # A checkpoint with a file of another size is passed over: the fit goes on from the one before.
    passed = ((), expected(2))
    listed = lambda folder: sorted(folder.glob("*/manifest.json"))  # noqa: E731
    return Template("folder", make, use, CheckpointError, listed, others=passed)


def _model(kind: type) -> Template:
    X, subject = _data()
    y = np.array(["a", "b", ""], dtype=object)[subject]

    def make(folder: Path) -> None:
        if kind is TopicModel:
            texts, labels = TEXTS * 2, ["sport", "", "", "space", "", ""] * 2
            model = TopicModel(2, random_state=0).fit(texts, labels)
            model = model.rename(0, "night").freeze(1).pin(0, "rocket").ban(1, "moon")
        else:
            target = {NMF: None, SSNMFClassifier: y, SSNMFRegressor: subject * 1.5 - 1}[kind]
            model = kind(2, **_settings()).fit(X, target)
        save(model, folder, notes={"command": ["fit"], "n": 1.5})

    def use(folder: Path) -> Any:
        model = load_model(folder)
        if isinstance(model, TopicModel):
            texts = [*TEXTS, "", "puck moon"]
            said = model.predict(texts).tolist()
            orders = [model.topics(by=by) for by in ("coherence", "probability")]
            settled = Settled.of(model), model.drop(0).settled_
            return model.transform(texts), repr((said, orders, model.class_summaries(), settled))
        shown = np.resize(X.toarray(), (4, model.n_features_in_))
        said = [] if isinstance(model, NMF) else np.asarray(model.predict(shown)).tolist()
        return model.transform(shown), repr(said)

    listed = lambda folder: [folder / "manifest.json"]  # noqa: E731
    return Template(kind.__name__, make, use, ModelFormatError, listed)


def _static_encoder() -> Template:
    """A folder in the form of model2vec, which has no digests."""
    vectors = subject_vectors([text.split() for text in TEXTS])

    def use(folder: Path) -> Any:
        found = encode_texts(str(folder), TEXTS)
        parts = find_encoder(str(folder)).word_parts(TEXTS[0], np.eye(found.shape[1]))
        return found, np.array([*parts.values()]), repr([*parts])

    make = lambda folder: write_static(folder, vectors)  # noqa: E731
    return Template("static encoder", make, use, ValueError, lambda folder: [], trusting=True)


def _encoder_cache() -> Template:
    def encode(texts: list[str]) -> np.ndarray:
        return np.array([[len(text), text.count("o")] for text in texts], dtype=float)

    def use(folder: Path) -> Any:
        return (CachedEncoder(encode, folder).encode(TEXTS),)

    make = lambda folder: use(folder)  # noqa: E731
    return Template("encoder cache", make, use, EncoderCacheError, lambda folder: [])


FOLDERS, REQUESTS = ("rowblocks", "checkpoints", "models", "encoders"), "requests"
TARGETS = (*FOLDERS, REQUESTS)


@cache
def templates(target: str) -> tuple[Template, ...]:
    """Return the valid folders of a target."""
    if target == "rowblocks":
        return tuple(map(_row_blocks, ("labels", "numbers", "named", "plain", "schema-1")))
    if target == "checkpoints":
        return _archive_checkpoint(), _folder_checkpoint()
    if target == "encoders":
        return _static_encoder(), _static_encoder(), _static_encoder(), _encoder_cache()
    return tuple(map(_model, (TopicModel, NMF, SSNMFClassifier, SSNMFRegressor)))


# ---- damage to bytes

Random = np.random.Generator


def _pick(random: Random, choices: Any) -> Any:
    return choices[int(random.integers(len(choices)))]


def _files(folder: Path, *endings: str) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if not endings or path.suffix in endings]


def change_bytes(data: bytes, random: Random) -> bytes:
    """Flip, cut, delete, repeat, insert or overwrite."""
    size = len(data)
    low, high = sorted(int(random.integers(size + 1)) for _ in range(2))
    few = random.bytes(int(random.integers(1, 17)))
    place = int(random.integers(size)) if size else 0
    flipped = bytearray(data)
    for _ in range(_pick(random, (1, 1, 1, 8))):
        if size:
            flipped[int(random.integers(size))] ^= 1 << int(random.integers(8))
    digits = [i for i, byte in enumerate(data[:4000]) if 48 <= byte <= 57] or [place]
    digit = _pick(random, digits)
    return _pick(
        random,
        (
            bytes(flipped),
            bytes(flipped),
            data[:low],
            data[:low] + data[high:],
            data[:high] + data[low:high] + data[high:],
            data[:place] + few + data[place:],
            data[:place] + few + data[place + len(few) :],
            data[:digit] + b"%d" % random.integers(10**6) + data[digit + 1 :],
        ),
    )


def damage_bytes(folder: Path, random: Random) -> str:
    path = _pick(random, _files(folder))
    path.write_bytes(change_bytes(path.read_bytes(), random))
    return f"bytes of {path.name}"


def damage_kind(folder: Path, random: Random) -> str:
    """Replace a file by something else."""
    path = _pick(random, _files(folder))
    kind = _pick(
        random, ("link", "loop", "zero", "fifo", "empty", "folder", "sparse", "longer", "missing")
    )
    moved = folder.parent / "moved"
    if kind == "longer":
        with open(path, "ab") as file:
            file.truncate(path.stat().st_size + int(random.integers(1, 2**33)))
        return f"{path.name} made longer"
    path.rename(moved)
    if kind == "link":
        path.symlink_to(moved)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "folder":
        path.mkdir()
    elif kind == "sparse":
        with open(path, "wb") as file:
            file.truncate(2 ** int(random.integers(20, 43)))
    return f"{path.name} replaced: {kind}"


def damage_names(folder: Path, random: Random) -> str:
    """Exchange two files or folders, copy one over the other, or link a folder."""
    one, other = (_pick(random, _files(folder)) for _ in range(2))
    kind = _pick(random, ("exchange", "copy", "folders", "linked"))
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    if kind == "exchange" or (kind != "copy" and not inside):
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)
    elif kind == "copy":
        shutil.copyfile(one, other) if one != other else one.unlink()
    elif kind == "folders":
        first, second = _pick(random, inside), _pick(random, inside)
        first.rename(folder.parent / "moved")
        if second != first:
            second.rename(first)
            (folder.parent / "moved").rename(second)
    else:
        first = _pick(random, inside)
        first.rename(folder.parent / "moved")
        first.symlink_to(folder.parent / "moved")
    return f"{kind}: {one.name}, {other.name}"


# ---- damage to JSON and arrays, which may keep its digest


ODD = [  # copied where they are put, so that no later change makes one hold itself
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    7,
    2**31 - 1,
    2**31,
    2**53,
    2**63,
    10**30,
    -(10**30),
    0.0,
    -0.5,
    1.5,
    1e308,
    5e-324,
    "",
    "x",
    "a",
    "nan",
    "../../x",
    "\ud800",
    [],
    {},
    [1],
    [[]],
    [None],
    {"a": 1},
    {"type": "NMF"},
    {"type": "tuple", "items": []},
    {"type": "float", "value": "nan"},
]


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return the home and the key of each value inside; values may be deep."""
    found, todo = [], [value]
    while todo:
        home = todo.pop()
        inside = home.items() if isinstance(home, dict) else enumerate(home)
        for key, one in inside:
            found.append((home, key))
            if isinstance(one, dict | list):
                todo.append(one)
    return found


def change_json(value: Any, random: Random) -> Any:
    """Change, delete, copy or nest one value somewhere inside."""
    places = _places(value) if isinstance(value, dict | list) else []
    if not places or random.random() < 0.2 / (1 + len(places)):
        return copy.deepcopy(_pick(random, ODD))
    home, key = _pick(random, places)
    old = home[key]
    kind = _pick(random, ("odd", "odd", "number", "number", "delete", "copy", "nest", "rename"))
    if kind == "number" and isinstance(old, int | float):
        home[key] = _pick(random, (old + 1, old - 1, -old, old * 1000, old / 2, float(old)))
    elif kind == "delete":
        del home[key]
    elif kind == "copy":
        there, name = _pick(random, places)
        home[key] = copy.deepcopy(there[name])
    elif kind == "nest":
        for _ in range(_pick(random, (1, 5, 900, 3000))):
            old = [old]
        home[key] = old
    elif kind == "rename" and isinstance(home, dict):
        home[_pick(random, ("x", "type", "items", "value", *home))] = home.pop(key)
    else:
        home[key] = copy.deepcopy(_pick(random, ODD))
    return value


def damage_json(folder: Path, random: Random) -> str:
    path = _pick(random, _files(folder, ".json") or _files(folder))
    try:
        value = json.loads(path.read_bytes())
    except ValueError:
        return damage_bytes(folder, random)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        for _ in range(_pick(random, (1, 1, 2, 5))):
            if isinstance(value, dict | list) and value:
                value = change_json(value, random)
        path.write_text(json.dumps(value))
    finally:
        sys.setrecursionlimit(limit)
    return f"JSON of {path.name}"


def change_array(array: np.ndarray, random: Random) -> np.ndarray:
    """Change values, shape or dtype."""
    array = array.copy()
    odd = (np.nan, np.inf, -np.inf, -1, 0, 1, 2, 5, 6, 7, 1e300, 1e-300, 5e-324, 2**31 - 1, 2**40)
    kind = _pick(random, ("odd", "odd", "odd", "order", "shape", "dtype", "scale"))
    flat = array.reshape(-1)
    if kind == "odd" and flat.size:
        with np.errstate(all="ignore"):
            flat[int(random.integers(flat.size))] = np.array(_pick(random, odd)).astype(array.dtype)
    elif kind == "order":
        random.shuffle(flat)
    elif kind == "shape":
        return _pick(random, (flat[:-1], flat, flat[None], array[..., None], np.repeat(flat, 2)))
    elif kind == "dtype":
        dtype = _pick(random, ("<f4", "<f8", ">f8", "<i4", "<i8", "<u8", "|b1", "<f2", "<c16"))
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            return array.astype(dtype)
    elif kind == "scale" and array.dtype.kind == "f":
        return array * _pick(random, (2.0, 1e-8, 1e150, -1.0))
    return array


def change_header(data: bytes, random: Random) -> bytes:
    """Rewrite the header of an .npy file."""
    size = int.from_bytes(data[8:10], "little")
    text, rest = data[10 : 10 + size], data[10 + size :]
    shape = _pick(
        random, ("()", "(3,)", "(-1,)", "(2, 3)", "(999999999999999999,)", "(10**9,)", "(1" * 500)
    )
    descr = _pick(random, ("'<f8'", "'|O'", "'<i4'", "'<f3'", "[('a', '<f8')]", "'<U9'", "(" * 300))
    new = _pick(
        random,
        (
            f"{{'descr': {descr}, 'fortran_order': False, 'shape': (3,), }}".encode(),
            f"{{'descr': '<f8', 'fortran_order': True, 'shape': {shape}, }}".encode(),
            text.replace(b"False", b"True").strip(),
            change_bytes(text, random),
            b"[" * 900 + b"]" * 900,
            b"'" * 7,
            text.strip() + b"#",
        ),
    )
    new += b" " * (-(10 + len(new) + 1) % _pick(random, (64, 64, 1))) + b"\n"
    return data[:8] + struct.pack("<H", len(new) % 2**16) + new + rest


def damage_array(folder: Path, random: Random) -> str:
    arrays = _files(folder, ".npy", ".npz")
    if not arrays:
        return damage_bytes(folder, random)
    path = _pick(random, arrays)
    change = _pick(random, ("values", "values", "header"))
    if path.suffix == ".npz":
        with np.load(path) as found:
            held = dict(found)
        name = _pick(random, sorted(held))
        members = {key: npy.to_bytes(array) for key, array in held.items()}
        members[name] = _changed_member(members[name], change, random)
        _write_archive(path, members, random)
        return f"{change} of {name} in {path.name}"
    path.write_bytes(_changed_member(path.read_bytes(), change, random))
    return f"{change} of {path.parent.name}/{path.name}"


def _changed_member(data: bytes, change: str, random: Random) -> bytes:
    if change == "header":
        return change_header(data, random)
    return npy.to_bytes(change_array(npy.as_array(data, "array"), random))


def _write_archive(path: Path, members: dict[str, bytes], random: Random) -> None:
    import zipfile

    how = _pick(random, (zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(path) as archive:
        comment = archive.comment
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        archive.comment = comment
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    path.write_bytes(buffer.getvalue())


STRUCTURED = (damage_json, damage_array)
DAMAGES = (damage_bytes, damage_bytes, damage_kind, damage_names, *STRUCTURED, *STRUCTURED)


def damage(folder: Path, template: Template, random: Random) -> tuple[str, bool]:
    """Damage a folder; return how, and whether its digests were made to agree."""
    change = _pick(random, DAMAGES)
    said = change(folder, random)
    if change not in STRUCTURED or random.random() < 0.3:
        return said, False
    try:
        resign(folder, template.manifests(folder), refresh="blocks.json" not in said)
    except Exception:
        return said, False
    return f"{said}, digests made to agree", True


# ---- one case


@dataclass(frozen=True)
class Case:
    target: str
    seed: int
    index: int

    @property
    def template(self) -> Template:
        return templates(self.target)[self.index % len(templates(self.target))]

    def run(self, valid: Path, expected: Any, home: Path) -> tuple[str, str]:
        """Return the outcome and a description."""
        random, template = np.random.default_rng([self.seed, self.index]), self.template
        folder = home / "folder"
        shutil.copytree(valid, folder)
        said, agrees = damage(folder, template, random)
        agrees = agrees or template.trusting
        try:
            with warnings.catch_warnings(action="ignore"):
                result = template.use(folder)
        except template.error as error:
            clear = "\n" not in str(error) and len(str(error)) < 2000
            return ("refused" if clear else "UNCLEAR"), f"{said}: {error}"
        except BaseException as error:
            if agrees and _refused_by_estimator(error):
                return "legitimate", f"{said}: {error}"
            return "EXCEPTION", f"{said}: {traceback.format_exc()}"
        if _same(result, expected):
            return "equal", said
        if any(_same(result, other) for other in template.others):
            return "refused", said
        if not all(np.isfinite(part).all() for part in result if isinstance(part, np.ndarray)):
            return "NOT FINITE", said
        return ("legitimate" if agrees else "OTHER RESULT"), said


def _refused_by_estimator(error: BaseException) -> bool:
    """Return whether a check of an estimator's data raised an error, not the reading of files."""
    places = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    checks = ("cofactor/targets/", "cofactor/estimators/", "sklearn/utils/validation")
    return isinstance(error, ValueError | TypeError) and any(c in places[-1] for c in checks)


def _same(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        for a, b in zip(one, other, strict=True)
    )


# ---- many cases, each in a separate process


@dataclass
class Running:
    case: Case
    pid: int
    pipe: int
    home: Path
    deadline: float = field(default_factory=lambda: time.monotonic() + PATIENCE)
    said: bytes = b""


def start(case: Case, valid: Path, expected: Any, scratch: Path) -> Running:
    """Fork a process for a case; it inherits what is imported and compiled."""
    home = Path(tempfile.mkdtemp(dir=scratch))
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return Running(case, pid, read, home)
    try:
        os.setpgid(0, 0)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (TIME, TIME))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        try:
            outcome, said = case.run(valid, expected, home)
        except BaseException:
            outcome, said = "NOT RUN", traceback.format_exc()
        os.write(write, json.dumps([outcome, said[-3000:]]).encode())
    finally:
        os._exit(0)


def finish(running: Running) -> tuple[str, str] | None:
    """Return the outcome of a case if it has ended, or None; one that hangs is killed."""
    ready, _, _ = select.select([running.pipe], [], [], 0.002)
    if ready:
        running.said += os.read(running.pipe, 65536)
    late = time.monotonic() > running.deadline
    if late:
        os.kill(running.pid, signal.SIGKILL)
    ended, status = os.waitpid(running.pid, 0 if late else os.WNOHANG)
    if not ended:
        return None
    running.said += os.read(running.pipe, 65536) if not late else b""
    os.close(running.pipe)
    shutil.rmtree(running.home, ignore_errors=True)
    if running.said:
        return tuple(json.loads(running.said))
    if late:
        return "HANG", f"more than {PATIENCE} seconds"
    ended_by = os.waitstatus_to_exitcode(status)
    if -ended_by in (signal.SIGXCPU, signal.SIGKILL):
        return "HANG", f"more than {TIME} seconds of processor time"
    return "SIGNAL", str(-ended_by)


def fuzz(
    target: str, count: int, seed: int, jobs: int, verbose: bool = False
) -> list[tuple[Case, str, str]]:
    """Run the cases of a target, print the failures and a summary, and return the failures."""
    began, outcomes, failures = time.monotonic(), Counter[str](), []
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=fast) as folder:
        valid = prepare(target, Path(folder))
        waiting, running = [Case(target, seed, i) for i in reversed(range(count))], []
        while waiting or running:
            while waiting and len(running) < jobs:
                case = waiting.pop()
                running.append(start(case, *valid[case.template.name], Path(folder)))
            for one in list(running):
                if (found := finish(one)) is not None:
                    running.remove(one)
                    outcomes[found[0]] += 1
                    if found[0] not in GOOD:
                        failures.append((one.case, *found))
                    if found[0] not in GOOD or verbose:
                        print(
                            f"{target} --seed {seed} --only {one.case.index}: {found[0]}, "
                            f"{one.case.template.name}, {found[1]}",
                            flush=True,
                        )
    shown = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    seconds = time.monotonic() - began
    print(f"{target}: {count} cases in {seconds:.0f} s: {shown}; {len(failures)} failures")
    return failures


def prepare(target: str, folder: Path) -> dict[str, tuple[Path, Any]]:
    """Make the valid folders and use each once, so that everything is imported and compiled."""
    valid = {}
    for template in templates(target):
        path = folder / f"valid-{template.name}"
        with warnings.catch_warnings(action="ignore"):
            template.make(path)
            expected = template.use(path)
        valid[template.name] = path, expected
    return valid


def replay(case: Case) -> None:
    """Run one case in this process and show how it ends."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        valid = prepare(case.target, Path(folder))
        (Path(folder) / "home").mkdir()
        print(*case.run(*valid[case.template.name], Path(folder) / "home"), sep=": ")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=(*TARGETS, "all"))
    parser.add_argument("--count", type=int, default=500, help="number of cases of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="number of cases at a time")
    parser.add_argument("--verbose", action="store_true", help="print every case")
    parser.add_argument("--only", type=int, help="run one case of damaged folders in this process")
    given = parser.parse_args()
    targets = TARGETS if given.target == "all" else (given.target,)
    if given.only is not None:
        replay(Case(targets[0], given.seed, given.only))
        return 0
    failures: list[Any] = []
    for target in targets:
        if target == REQUESTS:
            failures += fuzz_requests(given.count, given.seed, given.verbose)
        else:
            failures += fuzz(target, given.count, given.seed, given.jobs, given.verbose)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
