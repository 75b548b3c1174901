"""The cost model of docs/guide/beyond_memory.md: check it on blocks, draw it to 10⁹ documents.

Run ``python -m benchmarks.cost_model --out docs/scaling`` (about two minutes; needs matplotlib).
The model has four measured constants, of this machine, and two assumed ones, of a network.
``--known`` takes the constants from ``costs.json`` in that folder instead of measuring them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse as sp

from cofactor.divergences import KullbackLeibler
from cofactor.engine.blockwise import Tree
from cofactor.engine.factors import Factors
from cofactor.engine.objective import Objective, Term
from cofactor.engine.observations import dense, sparse
from cofactor.engine.solvers import MultiplicativeUpdates
from cofactor.engine.threads import Threads

WORDS, CLASSES, WORDS_PER_DOCUMENT = 50_000, 20, 80  # of the simulated corpus
RANK, BLOCK_CELLS = 50, 1 << 21
BYTES_PER_CELL = 24  # of a block: by rows and by columns
BANDWIDTH, LATENCY = 1.25e9, 1e-3  # 10 Gbit/s; a millisecond per message, scheduling included


@dataclass(frozen=True)
class Costs:
    """Seconds: for a nonzero, for a nonzero and topic, for a row and topic, for an entry of the
    features (statistics of a block made, added and applied)."""

    nonzero: float
    nonzero_topic: float
    row_topic: float
    feature_topic: float

    def block(self, nonzeros: float, rows: float, features: float, rank: float) -> float:
        """Return the seconds of an iteration over a block."""
        return (
            nonzeros * (self.nonzero + self.nonzero_topic * rank)
            + rows * rank * self.row_topic
            + features * rank * self.feature_topic
        )


def measure(nonzeros: int, rows: int, features: int, rank: int, repeats: int = 5) -> float:
    """Return the seconds of a multiplicative iteration over a synthetic block, both losses KL."""
    random = np.random.default_rng(0)
    share = 1.0 / np.arange(1, features + 1)
    columns = random.choice(features, size=nonzeros, p=share / share.sum())
    X = sp.csr_array(
        (random.random(nonzeros), (random.integers(0, rows, nonzeros), columns)),
        shape=(rows, features),
    )
    Y = np.eye(CLASSES)[random.integers(0, CLASSES, rows)]
    objective = Objective(
        (
            Term("data", "features", sparse(X), KullbackLeibler),
            Term("target", "targets", dense(Y), KullbackLeibler),
        )
    )
    factors = Factors(*(random.random((n, rank)) for n in (rows, features, CLASSES)))
    solver, best = MultiplicativeUpdates(), math.inf
    with Threads(1) as threads:
        state = solver.step(objective, solver.start(objective, factors, threads), threads)
        for _ in range(repeats):
            start = time.perf_counter()
            state = solver.step(objective, state, threads)
            best = min(best, time.perf_counter() - start)
    return best / X.nnz * nonzeros


SHAPES = [  # nonzeros, rows, features, rank
    (200_000, 4_000, 5_000, 13),
    (800_000, 16_000, 5_000, 13),
    (2_000_000, 40_000, 5_000, 13),
    (800_000, 16_000, 50_000, 13),
    (800_000, 4_000, 20_000, 50),
    (2_000_000, 25_000, 20_000, 50),
    (800_000, 16_000, 5_000, 26),
    (2_000_000, 25_000, 50_000, 26),
    (200_000, 16_000, 20_000, 50),
]
CHECKS = [
    (1_500_000, 20_000, 30_000, 40),
    (500_000, 10_000, 10_000, 20),
    (2_000_000, 30_000, 10_000, 32),
]


def calibrate() -> tuple[Costs, list[tuple[tuple[int, ...], float, float]]]:
    """Fit the constants to some blocks, and predict others."""
    times = np.array([measure(*shape) for shape in SHAPES])
    design = np.array([[z, z * r, n * r, m * r] for z, n, m, r in SHAPES], dtype=float)
    weights = 1.0 / times  # relative errors
    from scipy.optimize import nnls

    found, _ = nnls(design * weights[:, None], times * weights)
    costs = Costs(*found.tolist())
    checked = [(shape, measure(*shape), costs.block(*shape[:3], shape[3])) for shape in CHECKS]
    return costs, checked


def blocks_of(documents: float) -> int:
    """Return the number of blocks."""
    return max(1, math.ceil(documents * WORDS_PER_DOCUMENT / BLOCK_CELLS))


@cache
def sums_received(blocks: int, workers: int) -> int:
    """Return how many sums the driver receives.

    Sums are taken over a binary tree of block numbers, so that they do not depend on the workers. A
    worker adds up the branches that it holds whole, and sends the sum of each.
    """
    owners = np.arange(blocks) * workers // blocks
    nodes = 0
    for share in np.split(np.arange(blocks), np.flatnonzero(np.diff(owners)) + 1):
        tree: Tree[int] = Tree(lambda a, b: a + b)
        for number in share.tolist():
            tree.put((0, number), 1)
        nodes += len(tree.nodes)
    return nodes


def message_bytes(features: int = WORDS, rank: int = RANK) -> float:
    """Return the size of the features' and targets' factors, and of their sums."""
    return float((features + CLASSES) * rank * 8)


def exchange(how: str, workers: int, documents: float) -> float:
    """Return the seconds to sum statistics over workers and to send the factors back.

    With "driver", workers copy the factors from each other, and the driver receives all sums.
    """
    if workers == 1:
        return 0.0
    message = message_bytes() / BANDWIDTH
    rounds = math.ceil(math.log2(workers))
    sums = sums_received(blocks_of(documents), workers)
    return {
        "driver": (rounds + 1) * (message + LATENCY) + sums * message + workers * LATENCY,
        "tree": 2 * rounds * (message + LATENCY),
        "sharded": 2 * message * (workers - 1) / workers + 2 * rounds * LATENCY,
    }[how]


def iteration(costs: Costs, documents: float, workers: int, how: str, cores: int = 1) -> float:
    """Return the seconds of an iteration on some cores of each worker."""
    mine = documents / workers
    blocks = blocks_of(mine)
    cells = mine * WORDS_PER_DOCUMENT / blocks
    each = costs.block(cells, mine / blocks, WORDS, RANK)
    return blocks * each / cores + exchange(how, workers, documents)


def needs(costs: Costs, documents: float, workers: int, cores: int) -> dict[str, float]:
    """Return what an iteration needs: bytes and seconds, if the driver receives all sums."""
    received = sums_received(blocks_of(documents), workers) * message_bytes()
    cells = documents * WORDS_PER_DOCUMENT / workers
    return {
        "seconds": iteration(costs, documents, workers, "driver", cores),
        "seconds of the exchange": exchange("driver", workers, documents),
        "received by the driver": received,
        "sent to each worker": message_bytes(),
        "memory of the driver": received + 4 * message_bytes(),
        "memory of a worker: blocks": cells * BYTES_PER_CELL,
        "memory of a worker: representations": 2 * documents / workers * RANK * 8,
        "checkpoint": documents * RANK * 8,
    }


WAYS = {"driver": "driver gathers", "tree": "tree", "sharded": "features sharded"}
DOCUMENTS = [10.0**k for k in range(5, 10)]
WORKERS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]


def draw(costs: Costs, path: Path) -> None:
    """Draw seconds of an iteration by workers, for corpora of each size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
    for axis, (how, name) in zip(axes, WAYS.items(), strict=True):
        for shade, documents in zip(np.linspace(0.85, 0.1, len(DOCUMENTS)), DOCUMENTS, strict=True):
            times = [iteration(costs, documents, workers, how) for workers in WORKERS]
            colour = pyplot.colormaps["viridis"](shade)
            axis.loglog(
                WORKERS,
                times,
                "o-",
                ms=3,
                color=colour,
                label=f"10$^{{{round(math.log10(documents))}}}$",
            )
        axis.set_title(name)
        axis.set_xlabel("workers (one core each)")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("seconds an iteration")
    axes[2].legend(title="documents", loc="upper right")
    figure.savefig(path, dpi=130)


def read_costs(path: Path) -> tuple[Costs, list[tuple[tuple[int, ...], float, float]]]:
    """Return what `calibrate` found earlier."""
    found = json.loads(path.read_text())
    return Costs(**found["costs"]), [(tuple(c[:4]), c[4], c[5]) for c in found["checks"]]


def print_needs(costs: Costs) -> None:
    """Print what 10⁹ documents need on a hundred and on a thousand workers."""
    clusters = {"100 workers": (100, 1), "1,000 workers": (1000, 1), "64 × 16 cores": (64, 16)}
    needed = [needs(costs, DOCUMENTS[-1], *cluster) for cluster in clusters.values()]
    print(f"\n| 10⁹ documents | {' | '.join(clusters)} |\n|---|---|---|---|")
    for name in needed[0]:
        unit, size = ("s", 1.0) if "seconds" in name else ("GB", 1e9)
        cells = (f"{each[name] / size:.3g} {unit}" for each in needed)
        print(f"| {name} | {' | '.join(cells)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, required=True, help="folder for costs.json and curve.png"
    )
    parser.add_argument("--known", action="store_true", help="use the constants in costs.json")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / "costs.json"
    costs, checked = read_costs(kept) if options.known else calibrate()
    print("nanoseconds:", {name: round(value * 1e9, 3) for name, value in asdict(costs).items()})
    print(
        "| nonzeros | rows | features | rank | measured | model | ratio |\n"
        "|---|---|---|---|---|---|---|"
    )
    for (z, n, m, r), measured, predicted in checked:
        ratio = predicted / measured
        print(
            f"| {z} | {n} | {m} | {r} | {measured * 1e3:.1f} ms | {predicted * 1e3:.1f} ms "
            f"| {ratio:.2f} |"
        )
    print(
        "\n| documents | "
        + " | ".join(f"{w} workers" for w in (1, 10, 100, 1000))
        + " |\n|---|---|---|---|---|"
    )
    table = {}
    for documents in DOCUMENTS:
        cells = []
        for workers in (1, 10, 100, 1000):
            times = {how: iteration(costs, documents, workers, how) for how in WAYS}
            table[f"{documents:.0e} documents, {workers} workers"] = times
            cells.append(" / ".join(f"{t:.3g}" for t in times.values()))
        print(f"| {documents:.0e} | " + " | ".join(cells) + " |")
    print_needs(costs)
    draw(costs, options.out / "curve.png")
    results = {
        "costs": asdict(costs),
        "checks": [[*shape, a, b] for shape, a, b in checked],
        "seconds": table,
    }
    kept.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
