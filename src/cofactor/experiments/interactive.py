"""Interactive figures: HTML pages that need no network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cofactor.experiments.run import Run
from cofactor.experiments.trials import Result

BLUES = ["#f7fbff", "#6baed6", "#08306b"]


def topic_page(run: Run, name: str, title: str, results: Mapping[str, Result]) -> None:
    """Write a page with a heatmap for each model; a cell under the mouse shows its words."""
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError:
        run.note("No interactive figures: altair is missing (pip install 'cofactor[report]').")
        return
    chart = _chart(altair, _rows(results), list(results))
    run.page(name, title, chart.to_html(inline=True, fullhtml=True))


def _rows(results: Mapping[str, Result]) -> list[dict[str, Any]]:
    return [
        {
            "model": model,
            "topic": topic + 1,
            "class": label,
            "share": round(share, 4),
            "name": f"{topic + 1} {result['words'][topic][0]}",
            "keywords": ", ".join(result["words"][topic]),
            "group": f"{result['hard']['groups'][topic]} ({result['hard']['scores'][topic]:.2f})",
        }
        for model, result in results.items()
        for topic, shares in enumerate(result["shares"])
        for label, share in zip(result["classes"], shares, strict=True)
    ]


def _chart(altair: Any, rows: list[dict[str, Any]], models: list[str]) -> Any:
    pick = altair.binding_select(options=models, name="Model: ")
    chosen = altair.selection_point(fields=["model"], bind=pick, value=models[0])
    colour = altair.Color("share:Q", scale=altair.Scale(domain=[0, 0.5, 1], range=BLUES))
    return (
        altair.Chart(altair.Data(values=rows), title="Topics by class: point at a cell")
        .mark_rect(stroke="white", strokeWidth=2)
        .encode(
            x=altair.X(
                "name:N",
                title=None,
                sort=altair.SortField("topic"),
                axis=altair.Axis(labelAngle=-40),
            ),
            y=altair.Y("class:N", title=None),
            color=colour,
            tooltip=[
                "topic:O",
                "class:N",
                altair.Tooltip("share:Q", format=".2f"),
                "keywords:N",
                altair.Tooltip("group:N", title="subgroup (P)"),
            ],
        )
        .add_params(chosen)
        .transform_filter(chosen)
        .properties(width=altair.Step(64), height=altair.Step(48))
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=14)
        .configure_legend(labelFontSize=13, titleFontSize=13)
        .configure_title(fontSize=16, anchor="start")
    )
