"""A local cluster can be reached from this machine only."""

import os
from pathlib import Path

import pytest

pytest.importorskip("dask", reason="cofactor.distributed needs: pip install 'cofactor[dask]'")

LOOPBACK = {"0100007F", "00000000000000000000000001000000"}  # 127.0.0.1 and ::1, as /proc has them


def listening():
    """The sockets that this process and its children listen on: {inode: address}."""
    inodes = set()
    for process in {os.getpid(), *descendants(os.getpid())}:
        for link in Path(f"/proc/{process}/fd").iterdir():
            try:
                inodes.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))
            except OSError:  # closed in the meantime
                continue
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {row[9]: row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}


def descendants(process):
    found = []
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        for child in tasks.read_text().split():
            found += [int(child), *descendants(child)]
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads sockets from /proc")
def test_a_local_cluster_listens_on_loopback_only(monkeypatch):
    from cofactor.distributed.client import connected

    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    before = listening()  # other tests of this process may have a cluster, too
    with connected("local") as client:
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
        addresses = [at for inode, at in listening().items() if inode not in before]
    assert len(addresses) >= 3  # at least the scheduler and two workers
    assert set(addresses) <= LOOPBACK
