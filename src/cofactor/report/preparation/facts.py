"""Facts about a model: the summary at the top of a report, and how to reproduce the model."""

from __future__ import annotations

import inspect
from typing import Any

from cofactor._versions import versions
from cofactor.io.errors import shortened
from cofactor.report.preparation.evaluation import MODEL, Evaluation
from cofactor.report.preparation.material import Material, is_known
from cofactor.report.preparation.scores import METRICS, format_score
from cofactor.text.editing import Settled


def summary(material: Material, found: Evaluation | None) -> list[dict[str, Any]]:
    """Return the numbers at the top, each with a name and a remark."""
    estimator = material.model.estimator_
    rows = [
        _figure("documents", f"{len(material.S):,}", _documents_remark(material)),
        _figure(
            "topics",
            str(len(estimator.components_)),
            f"over {estimator.components_.shape[1]:,} words",
        ),
    ]
    if material.kind in ("classes", "sets"):
        name = "classes" if material.kind == "classes" else "labels"
        rows.append(_figure(name, str(len(material.classes)), _label_remark(material)))
    expected = material.model.expected_score_
    if expected is not None and found is None:
        rows.append(_figure("expected", str(expected), "on new documents like those of the fit"))
    if found is not None:
        score = format_score(found.kind, found.scores()[MODEL])
        rows.append(_figure(METRICS[found.kind][0], score, _rival(found)))
    return rows


def _figure(name: str, value: str, remark: str) -> dict[str, Any]:
    return {"name": name, "value": value, "remark": remark}


def _rival(found: Evaluation) -> str:
    others = {name: s for name, s in found.scores().items() if name != MODEL}
    name = max(others, key=lambda name: others[name])
    return f"{name}: {format_score(found.kind, others[name])}"


def _documents_remark(material: Material) -> str:
    if material.texts is None:
        return "of the fit; texts not given"
    return "the documents of the fit" if material.from_fit else "given for this report"


def _label_remark(material: Material) -> str:
    known = int(is_known(material.labels).sum())
    labelled = f"{known:,} documents labelled" if known else "labels not given"
    return labelled if material.kind == "classes" else f"any number at once; {labelled}"


def reproduction(material: Material) -> dict[str, Any]:
    """Return versions, seed, settings and fingerprints, and the call that fits the model."""
    model = material.model
    facts = {
        "seed": str(model.seed_),
        "λ": f"{model.estimator_.supervision_:.6g}" if material.kind != "topics" else "none",
        "iterations": str(model.estimator_.n_iter_),
        "end of the fit": str(model.estimator_.stop_reason_),
        "data of the fit": model.fingerprint_,
    }
    if edited := _edits(model):
        facts["edited after the fit"] = edited
    if material.digest is not None:
        same = material.digest == model.fingerprint_
        facts["data of this report"] = "the same" if same else material.digest
    facts |= {f"time to {step}": f"{s:.1f} s" for step, s in model.timings_.items()}
    return {"facts": facts, "versions": versions(), "call": call(model)}


def _edits(model: Any) -> str:
    """Return what a user settled about the topics; "" if the model was not edited."""
    if model.fitted.settled is None:
        return ""
    settled = Settled.of(model)
    counts = {
        "names given": sum(name is not None for name in settled.names),
        "topics frozen": sum(settled.frozen),
        "words pinned": sum(map(len, settled.pinned)),
        "words banned": sum(map(len, settled.banned)),
    }
    told = ", ".join(f"{name}: {count}" for name, count in counts.items() if count)
    return told or "yes"


def call(model: Any) -> str:
    """Return the Python call that fits such a model."""
    default = {
        name: parameter.default
        for name, parameter in inspect.signature(type(model).__init__).parameters.items()
    }
    changed = [
        f"{name}={shortened(repr(value), 300)}"
        for name, value in model.get_params(deep=False).items()
        if name not in ("random_state", "n_components")
        and value is not default[name]
        and repr(value) != repr(default[name])
    ]
    settings = ", ".join([str(model.n_components), *changed, f"random_state={model.seed_}"])
    then = "  # then its topics were edited" if model.fitted.settled is not None else ""
    return f"TopicModel({settings}).fit(documents, labels){then}"
