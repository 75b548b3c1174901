"""Workers come and go, the driver dies, disks fill up: same bits, or one sentence."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from cofactor import RowBlocks

distributed = pytest.importorskip("cofactor.distributed", reason="needs cofactor[dask]")


class After:
    """A callback that does something once, after an iteration."""

    def __init__(self, iteration, act):
        self.iteration, self.act, self.count, self.times = iteration, act, 0, [time.monotonic()]

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.count += 1
        self.times.append(time.monotonic())
        if self.count == self.iteration:
            self.act()


def kill_one(client):
    pids = client.run(os.getpid)
    os.kill(pids[min(pids)], signal.SIGKILL)


def kill_all(client):
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def fragile(new_cluster):
    """A cluster whose workers are killed, and replaced by it."""
    with new_cluster(2) as client:
        yield client


@pytest.fixture
def victims(fragile):
    fragile.wait_for_workers(2, timeout=120)
    return fragile


@pytest.mark.parametrize(("kind", "after"), [("folder", 2), ("memory", 7), ("delayed", 5)])
def test_a_killed_worker_changes_nothing(
    kind, after, victims, blocks, pieces, estimator, same, tmp_path
):
    expected = estimator(max_iter=12).fit(blocks)
    rows, checkpoint = pieces if kind == "delayed" else blocks, None
    if kind == "folder":
        rows = RowBlocks.write(tmp_path / "blocks", blocks.held, rows=20)
        checkpoint = tmp_path / "checkpoint"
    watch = After(after, lambda: kill_one(victims))
    model = estimator(max_iter=12).set_callbacks(watch)
    distributed.fit(victims, rows, None, model, checkpoint=checkpoint, checkpoint_every=4)
    assert watch.count > after
    same(expected, model)
    assert max(np.diff(watch.times)) < 60


@pytest.mark.parametrize("error", [OSError, TimeoutError, ValueError, KeyError])
def test_a_worker_that_leaves_while_something_is_sent_to_it_is_lost(client, monkeypatch, error):
    """Which error says so depends on how far the scheduler has come."""
    from cofactor.distributed.watch import Lost, WatchedClient

    async def scatter(*_, **__):
        raise error("gone")

    watched = WatchedClient(client)
    monkeypatch.setattr(client, "scatter", scatter)
    with pytest.raises(Lost):
        watched.send("something", watched.workers()[0])


def test_the_only_worker_is_replaced(new_cluster, blocks, estimator, same):
    with new_cluster(1) as client:
        model = estimator().set_callbacks(After(3, lambda: kill_one(client)))
        same(estimator().fit(blocks), distributed.fit(client, blocks, None, model))


def test_late_workers_join(new_cluster, blocks, estimator, same):
    owners = []

    def note(client):
        held = client.run(lambda dask_worker: len(vars(dask_worker).get("_cofactor_fits", {})))
        owners.append(sum(held.values()))

    with new_cluster(1) as client:

        def grow():
            note(client)
            client.cluster.scale(2)
            client.wait_for_workers(2, timeout=60)

        model = estimator().set_callbacks(After(1, grow), After(4, lambda: note(client)))
        distributed.fit(client, blocks, None, model, checkpoint_every=3)
    same(estimator().fit(blocks), model)
    assert owners == [1, 2]


DRIVER = """
    import sys
    from distributed import Client
    from cofactor import RowBlocks, SSNMFClassifier, distributed

    with Client(sys.argv[1], set_as_default=False) as client:
        model = SSNMFClassifier(4, solver="mu", max_iter=5000, tol=0, random_state=0)
        rows = RowBlocks.open(sys.argv[2])
        distributed.fit(client, rows, None, model, checkpoint=sys.argv[3], checkpoint_every=2)
"""


def test_a_killed_driver_is_resumed(client, blocks, estimator, same, tmp_path):
    rows = RowBlocks.write(tmp_path / "blocks", blocks.held, rows=20)
    folder = tmp_path / "checkpoint"
    script = tmp_path / "driver.py"
    script.write_text(textwrap.dedent(DRIVER))
    address = client.scheduler.address
    driver = subprocess.Popen([sys.executable, script, address, rows.folder.path, folder])
    deadline = time.monotonic() + 60
    while len(list(folder.glob("*/manifest.json"))) < 2:
        assert driver.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    driver.kill()
    driver.wait()
    made = max(int(path.parent.name) for path in folder.glob("*/manifest.json"))
    watch = After(0, None)
    model = estimator(max_iter=made + 3).set_callbacks(watch)
    distributed.fit(client, rows, None, model, checkpoint=folder, checkpoint_every=2)
    same(estimator(max_iter=made + 3).fit(blocks), model)
    assert watch.count == 3 + 1  # iterations, and the fit itself
    left = sorted(path.parent.name for path in folder.glob("*/manifest.json"))
    assert len(left) == 2
    again = distributed.fit(client, rows, None, estimator(max_iter=made + 3), checkpoint=folder)
    same(model, again)


def test_a_fit_that_had_stopped_is_not_continued(client, blocks, estimator, same, tmp_path):
    loose = {"tol": 0.02, "max_iter": 100}
    folder = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 1}
    first = distributed.fit(client, blocks, None, estimator(**loose), **folder)
    same(first, distributed.fit(client, blocks, None, estimator(**loose), **folder))
    assert first.n_iter_ < 100


def test_checkpoints_of_others_are_refused(client, data, blocks, estimator, tmp_path):
    X, y = data
    folder = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 2}
    distributed.fit(client, blocks, None, estimator(), **folder)
    others = RowBlocks.split(X * 2, y, rows=20)
    for rows, model in (
        (others, estimator()),
        (RowBlocks.split(X, y, rows=30), estimator()),
        (blocks, estimator(random_state=1)),
        (blocks, estimator(supervision=3.0)),
        (blocks, estimator(data_loss="frobenius")),
    ):
        with pytest.raises(distributed.CheckpointError, match="another model, start or data"):
            distributed.fit(client, rows, None, model, **folder)


def test_checkpoints_of_other_labels_are_refused(client, data, blocks, estimator, tmp_path):
    """Random topics do not depend on the labels, so the start does not tell them apart."""
    X, y = data
    model, folder = estimator(init="random"), {"checkpoint": tmp_path / "checkpoint"}
    distributed.fit(client, blocks, None, model, **folder)
    others = np.roll(y, 1)
    for rows in (RowBlocks.split(X, others, rows=20), blocks.with_targets(others)):
        with pytest.raises(distributed.CheckpointError, match="another model, start or data"):
            distributed.fit(client, rows, None, model, **folder)


def test_damaged_checkpoints(client, blocks, estimator, same, tmp_path):
    folder = tmp_path / "checkpoint"
    expected = distributed.fit(
        client, blocks, None, estimator(), checkpoint=folder, checkpoint_every=2
    )
    with open(sorted(folder.iterdir())[-1] / "block-00003.npy", "r+b") as file:
        file.truncate(50)
    watch = After(0, None)
    model = estimator().set_callbacks(watch)
    distributed.fit(client, blocks, None, model, checkpoint=folder, checkpoint_every=2)
    same(expected, model)
    assert watch.count == 3  # from the checkpoint before the last
    (sorted(folder.iterdir())[-1] / "manifest.json").write_text("{")
    with pytest.raises(distributed.CheckpointError, match=r"manifest\.json.*damaged"):
        distributed.fit(client, blocks, None, estimator(), checkpoint=folder)


def replace_writer(function):
    from cofactor.distributed import checkpoints

    checkpoints.write_whole = function


def test_no_space_left(client, blocks, estimator, same, tmp_path):
    folder = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 2}

    from cofactor.distributed import checkpoints

    def full(path, data):
        raise OSError(28, "No space left on device")

    def break_disk():
        client.run(replace_writer, full)

    model = estimator().set_callbacks(After(2, break_disk))
    try:
        with pytest.raises(OSError, match="No space left for the checkpoint") as caught:
            distributed.fit(client, blocks, None, model, **folder)
    finally:
        client.run(replace_writer, checkpoints.write_whole)
    assert caught.value.errno == 28
    assert [p.parent.name for p in folder["checkpoint"].glob("*/manifest.json")] == ["000002"]
    same(estimator().fit(blocks), distributed.fit(client, blocks, None, estimator(), **folder))


def test_a_cluster_that_vanishes(new_cluster, blocks, estimator, tmp_path):
    with new_cluster(1) as client:
        model = estimator().set_callbacks(After(2, lambda: client.cluster.close()))
        began = time.monotonic()
        with pytest.raises(distributed.ClusterError, match="call fit again with checkpoint="):
            distributed.fit(client, blocks, None, model, checkpoint=tmp_path / "checkpoint")
        assert time.monotonic() - began < 60


def test_blocks_that_cannot_be_made_again(victims, data, estimator):
    X, y = data
    blocks = victims.scatter([(X[:60], y[:60]), (X[60:], y[60:])], hash=False)
    model = estimator().set_callbacks(After(2, lambda: kill_all(victims)))
    with pytest.raises(distributed.ClusterError, match=r"Block \d was lost with its worker"):
        distributed.fit(victims, blocks, None, model)
