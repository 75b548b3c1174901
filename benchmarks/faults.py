"""Faults on a cluster: kill workers and the driver at random times, and compare bits.

    python -m benchmarks.faults [--kills 10] [--seed 0]
    python -m benchmarks.faults --cut 60

The second one needs Linux, root and the command ``ip``: a worker lives in a network namespace of
its own, and its link is down for a minute in the middle of a fit. Prints a Markdown table; the exit
code is 1 if a fit hung, failed or had other bits.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import sparse as sp

from cofactor import RowBlocks, SSNMFClassifier, distributed

MAX_WAIT_SECONDS = 60.0
"""Longer without an iteration counts as a hang."""


class Watch:
    """A callback that records when iterations end, and kills after a while."""

    def __init__(self, kill=None, after=0.0):
        self.times, self.kill, self.after = [], kill, after

    def setup(self, estimator, context):
        self.times.append(time.monotonic())
        if self.kill is not None:
            threading.Timer(self.after, self.kill).start()

    def teardown(self, estimator, context):
        """End a fit."""

    def on_fit_task_begin(self, estimator, context):
        """Begin an iteration."""

    def on_fit_task_end(self, estimator, context):
        self.times.append(time.monotonic())

    @property
    def longest_wait(self):
        return float(np.max(np.diff(self.times)))

    @property
    def seconds(self):
        return self.times[-1] - self.times[0]


def estimator():
    return SSNMFClassifier(
        8,
        data_loss="kullback-leibler",
        target_loss="frobenius",
        solver="mu",
        max_iter=40,
        tol=0,
        random_state=0,
    )


def write_data(folder):
    """Write sparse counts with half of their labels, in twelve blocks."""
    draw = np.random.default_rng(0)
    topics, y = draw.dirichlet(np.full(1500, 0.1), 8), draw.integers(0, 8, 6000)
    X = sp.csr_array(draw.poisson(60 * topics[y]).astype(float))
    y[draw.random(len(y)) < 0.5] = -1
    return RowBlocks.write(folder, [(X, y)], rows=500)


def same_bits(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("components_", "target_components_", "representation_")
    ) and (a.history_ == b.history_)


def kill_worker(client):
    pids = client.run(os.getpid)
    os.kill(random.choice(sorted(pids.values())), signal.SIGKILL)


def fit(client, rows, checkpoint, watch):
    model = estimator().set_callbacks(watch)
    return distributed.fit(client, rows, None, model, checkpoint=checkpoint, checkpoint_every=5)


def killed_workers(client, rows, expected, kills, place):
    """Yield a row of the table for each kill."""
    calm = Watch()
    fit(client, rows, place / "calm", calm)
    for k in range(kills):
        ended = False
        while not ended:  # a kill after the end does not count
            shutil.rmtree(place / "worker", ignore_errors=True)
            after = random.uniform(0.0, 0.9 * calm.seconds)
            watch = Watch(lambda: kill_worker(client), after)
            model = fit(client, rows, place / "worker" if k % 2 == 0 else None, watch)
            ended = after < watch.seconds
        fine = same_bits(model, expected) and watch.longest_wait < MAX_WAIT_SECONDS
        kept = "folder" if k % 2 == 0 else "memory"
        yield "worker", kept, f"{after:.2f}", watch.longest_wait, watch.seconds, fine
        client.wait_for_workers(3, timeout=MAX_WAIT_SECONDS)


DRIVER = """
import sys
from distributed import Client
from benchmarks import faults
from cofactor import RowBlocks
with Client(sys.argv[1]) as client:
    watch = faults.Watch()
    faults.fit(client, RowBlocks.open(sys.argv[2]), sys.argv[3], watch)
"""


def killed_driver(client, rows, expected, place):
    """Kill the process that fits once it has made checkpoints, and go on with another."""
    folder, began = place / "driver", time.monotonic()
    command = [sys.executable, "-c", DRIVER, client.scheduler.address]
    driver = subprocess.Popen([*command, str(rows.folder.path), str(folder)])
    while not len(list(folder.glob("*/manifest.json"))) >= 2 and driver.poll() is None:
        time.sleep(0.02)
    time.sleep(random.uniform(0.0, 0.3))
    driver.kill()
    driver.wait()
    after, watch = time.monotonic() - began, Watch()
    model = fit(client, rows, folder, watch)
    resumed = 0 < len(watch.times) - 2 < len(expected.history_["objective"])
    fine = same_bits(model, expected) and watch.longest_wait < MAX_WAIT_SECONDS and resumed
    yield "driver", "folder", f"{after:.2f}", watch.longest_wait, watch.seconds, fine


HOST, GUEST = "10.99.0.1", "10.99.0.2"
NAMESPACE, OUTSIDE, INSIDE = "cofactor-worker", "cofactor0", "cofactor1"


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


@contextmanager
def namespace():
    """Make a network namespace that is linked to this one; yield the command that enters it."""
    enter = ["ip", "netns", "exec", NAMESPACE]
    ip("netns", "add", NAMESPACE)
    try:
        ip("link", "add", OUTSIDE, "type", "veth", "peer", "name", INSIDE, "netns", NAMESPACE)
        ip("address", "add", f"{HOST}/24", "dev", OUTSIDE)
        ip("link", "set", OUTSIDE, "up")
        for command in (f"address add {GUEST}/24 dev {INSIDE}", f"link set {INSIDE} up"):
            ip("-n", NAMESPACE, *command.split())
        ip("-n", NAMESPACE, "link", "set", "lo", "up")
        yield enter
    finally:
        ip("netns", "delete", NAMESPACE)  # takes the link with it


def cut_off(seconds, place):
    """Cut one of three workers off in the middle of a fit; return a row of the table."""
    from distributed import Client, LocalCluster

    mend = threading.Timer(seconds, ip, ("link", "set", OUTSIDE, "up"))

    def cut():
        ip("link", "set", OUTSIDE, "down")
        mend.start()

    rows = write_data(place / "blocks")
    expected = estimator().fit(rows)
    options = {"threads_per_worker": 1, "host": HOST, "dashboard_address": ":0"}
    with namespace() as enter, LocalCluster(n_workers=2, **options) as cluster:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
        guest = [*enter, *command, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        worker = subprocess.Popen(guest, stderr=subprocess.DEVNULL)
        try:
            with Client(cluster) as client:
                client.wait_for_workers(3, timeout=MAX_WAIT_SECONDS)
                watch = Watch(cut, 1.0)
                model = fit(client, rows, place / "cut", watch)
        finally:
            mend.cancel()  # where the fit did not wait for it
            worker.kill()
            worker.wait()
    fine = same_bits(model, expected) and watch.longest_wait < seconds + MAX_WAIT_SECONDS
    return f"link, {seconds:g} s", "folder", "1.00", watch.longest_wait, watch.seconds, fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cut", type=float, metavar="SECONDS", help="cut a worker off instead")
    options = parser.parse_args()
    import dask

    dask.config.set(
        {"distributed.deploy.lost-worker-timeout": "60s"}
    )  # otherwise it gives up on them
    random.seed(options.seed)
    warnings.simplefilter("ignore")
    print("| killed | checkpoints | after s | longest wait s | whole fit s | same bits |")
    print("|---|---|---|---|---|---|")
    fine = True
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        found = [cut_off(options.cut, place)] if options.cut else killed(options.kills, place)
        for who, kept, after, wait, seconds, same in found:
            print(f"| {who} | {kept} | {after} | {wait:.2f} | {seconds:.2f} | {same} |", flush=True)
            fine = fine and same
    return 0 if fine else 1


def killed(kills, place):
    """Yield a row of the table for each kill on a local cluster."""
    from distributed import Client, LocalCluster

    local = LocalCluster(
        n_workers=3,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.WARNING,
    )
    with local as cluster, Client(cluster) as client:
        rows = write_data(place / "blocks")
        expected = estimator().fit(rows)
        yield from killed_driver(client, rows, expected, place)
        yield from killed_workers(client, rows, expected, kills, place)


if __name__ == "__main__":
    sys.exit(main())
