"""Texts on a cluster: the model of one process, whoever reads which part."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from cofactor import TopicModel
from cofactor.text.fitting import fit_in_blocks
from cofactor.text.text_parts import LocalParts, TextPart, fit_parts
from commands import make_rows

distributed = pytest.importorskip("cofactor.distributed", reason="needs cofactor[dask]")
ROWS = make_rows()
TEXTS = [row[1] for row in ROWS]
LABELS = np.array([row[2] or None for row in ROWS], dtype=object)
STEP = 16
CUTS = [slice(i, i + STEP) for i in range(0, len(TEXTS), STEP)]


@pytest.fixture(scope="module")
def here():
    """The model that this process makes of the parts."""
    model = TopicModel(6, random_state=0)
    return model.set_fitted(
        fit_parts(model, LocalParts([TextPart(TEXTS[cut], LABELS[cut]) for cut in CUTS]))
    )


def assert_same(one, other):
    assert one.fingerprint_ == other.fingerprint_
    assert one.estimator_.components_.tobytes() == other.estimator_.components_.tobytes()
    assert one.predict_proba(TEXTS).tobytes() == other.predict_proba(TEXTS).tobytes()
    assert one.topics() == other.topics()
    assert one.documents() == other.documents()


def read_slowly(cut, values, seconds=0.0):
    time.sleep(seconds)
    return values[cut]


def parts(values, seconds=0.0):
    from dask import delayed

    return [delayed(read_slowly)(cut, values, seconds) for cut in CUTS]


def test_delayed_parts_give_the_bits_of_one_process(client, here):
    model = TopicModel(6, random_state=0)
    assert_same(here, distributed.fit_texts(client, parts(TEXTS), parts(LABELS), model))


def test_dataframes_and_bags(client, here):
    dataframe = pytest.importorskip("dask.dataframe")
    import pandas as pd
    from dask import bag

    frames = [pd.DataFrame({"body": TEXTS[cut], "team": LABELS[cut]}) for cut in CUTS]
    frame = dataframe.from_delayed(
        [pytest.importorskip("dask").delayed(one) for one in frames], meta=frames[0]
    )
    with client.as_current():
        model = TopicModel(6, random_state=0).fit(frame["body"], frame["team"])
    assert_same(here, model)
    texts = bag.from_delayed(parts(TEXTS))
    model = distributed.fit_texts(client, texts, None, TopicModel(3, random_state=0))
    assert len(model.topics()) == 3


def test_empty_parts_are_left_out(client, here):
    from dask import delayed

    texts = [delayed([]), *parts(TEXTS), delayed([])]
    labels = [delayed([]), *parts(LABELS), delayed([])]
    model = distributed.fit_texts(client, texts, labels, TopicModel(6, random_state=0))
    assert_same(here, model)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.4, 1.0, 1.8])
def test_a_killed_worker_changes_nothing(after, new_cluster, here):
    with new_cluster(2) as client:
        pids = client.run(os.getpid)
        kill = threading.Timer(after, os.kill, (pids[min(pids)], signal.SIGKILL))
        kill.start()
        try:
            model = TopicModel(6, random_state=0)
            distributed.fit_texts(client, parts(TEXTS, 0.3), parts(LABELS), model)
        finally:
            kill.cancel()
    assert_same(here, model)


def test_predictions_of_a_dataframe(client, here):
    dataframe = pytest.importorskip("dask.dataframe")
    import pandas as pd

    whole = pd.DataFrame({"id": range(len(TEXTS)), "body": TEXTS})
    found = distributed.predict(here, dataframe.from_pandas(whole, npartitions=3), text="body")
    with client.as_current():
        computed = found.compute()
    pd.testing.assert_frame_equal(
        computed.astype(object), here.annotate(whole, text="body").astype(object)
    )
    assert list(found.columns) == list(computed.columns)
    none = dataframe.from_pandas(whole, npartitions=3)
    few = distributed.predict(here, none[none["id"] > len(TEXTS) - 3], text="body")
    with client.as_current():  # the first partitions are empty
        assert few.compute()["prediction"].tolist() == computed["prediction"].tolist()[-2:]
    with pytest.raises(TypeError, match="pass a dask dataframe with a column of texts"):
        distributed.predict(here, parts(TEXTS))


def test_a_fit_in_blocks_gives_the_bits_of_a_cluster(client):
    """So `cofactor verify` repeats the fit of a table on a cluster without one."""
    from cofactor.distributed.texts import TextCluster

    there = TopicModel(6, random_state=0)
    there.fit(TEXTS, LABELS, fit_with=TextCluster.of(client).fit_matrix)
    blocks = TopicModel(6, random_state=0).fit(TEXTS, LABELS, fit_with=fit_in_blocks)
    assert_same(there, blocks)


def test_refusals(client, here):
    model = TopicModel(2, random_state=0)
    for method in (here.predict, here.documents, here.transform):
        with pytest.raises(TypeError, match=r"documents is a dask collection; pass documents\."):
            method(parts(TEXTS))
    with pytest.raises(TypeError, match="documents is a list; pass a column of a dask dataframe"):
        distributed.fit_texts(client, TEXTS, None, model)
    with pytest.raises(ValueError, match="y has 1 parts, but documents have 6"):
        distributed.fit_texts(client, parts(TEXTS), parts(LABELS)[:1], model)
    with pytest.raises(ValueError, match="there is no cluster; create a client first"):
        model.fit(parts(TEXTS))
    for name in ("sample_weight", "target_weights", "fit_with"):
        with pytest.raises(ValueError, match=f"{name} cannot be used with a dask collection"):
            model.fit(parts(TEXTS), parts(LABELS), **{name: [1.0]})
    from cofactor.distributed.texts import TextCluster

    with pytest.raises(ValueError, match="target_weights cannot be used with a cluster; leave it"):
        TopicModel(6, random_state=0).fit(
            TEXTS,
            LABELS,
            target_weights=np.ones(len(TEXTS)),
            fit_with=TextCluster.of(client).fit_matrix,
        )


def test_a_stopped_fit_goes_on_with_what_was_counted_and_vectorised(client, here, tmp_path):
    """The second call neither counts nor vectorises, and damaged results are made again."""
    from cofactor.text import kept_parts, text_parts

    def fit():
        model = TopicModel(6, random_state=0)
        return distributed.fit_texts(
            client, parts(TEXTS), parts(LABELS), model, checkpoint=tmp_path / "kept"
        )

    assert_same(here, fit())
    kept = sorted((tmp_path / "kept/parts").iterdir())
    assert len(kept) == 2 * len(CUTS)
    before = {path: path.stat().st_mtime_ns for path in kept}
    kept[0].write_bytes(kept[0].read_bytes()[:-1])
    assert_same(here, fit())
    changed = [path for path in kept if path.stat().st_mtime_ns != before[path]]
    assert changed == kept[:1]
    part = TextPart(TEXTS[CUTS[0]], LABELS[CUTS[0]])
    vectorizer = here.vectorizer_
    for task, shared in (
        (text_parts.count_part, vectorizer),
        (text_parts.part_rows, text_parts.RowTask(vectorizer, True)),
    ):
        one = kept_parts.remembered(tmp_path / "own", task, part, shared)
        again = kept_parts.remembered(tmp_path / "own", task, part, shared)
        if task is text_parts.count_part:
            assert one == again
        else:
            assert one[0].data.tobytes() == again[0].data.tobytes()
            assert one[1].tolist() == again[1].tolist()
