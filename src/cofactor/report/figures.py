"""Charts of the report, drawn with altair.

Charts hold no data; the page has each table once. The script of the page sets the colours and the
names of topics, because the reader can change the theme and the names.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from cofactor.report.page_content import Prepared

Spec = dict[str, Any]
WIDTH: Any = "container"
MAX_LINE_CHARACTERS = 100  # of class names that are not rotated
MAX_FIGURE_NUMBERS = 15  # for numbers in the cells


def draw(prepared: Prepared) -> dict[str, Spec]:
    """Return the Vega-Lite specifications of a report's charts by name."""
    charts: dict[str, Any] = {**_maps(prepared), **_curves(prepared), **_over_time(prepared)}
    if prepared.heatmap:
        charts["heatmap"] = heatmap(prepared)
    scores = prepared.evaluation or {}
    if "confusion" in scores:
        classes = list(dict.fromkeys(row["prediction"] for row in scores["confusion"]))
        charts["confusion"] = confusion(classes, prepared.nouns.samples)
        charts["calibration"] = calibration(prepared.nouns.samples)
    if "pairs" in scores:
        logs = scores["metric"] != "R²"
        charts["pairs"] = pairs(scores["pairs"], logs)
        charts["errors"] = errors(scores["pairs"], logs)
    return {name: chart.to_dict(validate=False) for name, chart in charts.items()}


def _chart(table: str, height: int, **meta: Any) -> alt.Chart:
    return alt.Chart(alt.NamedData(table), width=WIDTH, height=height, usermeta=meta)


def _middle_cut(characters: int) -> str:
    """Return an expression for labels that cuts the middle out of long ones: classes often differ
    in their last words. The page's script cuts more of them where there is less room."""
    start, end = characters // 2, characters - characters // 2 - 1
    cut = f"slice(datum.label, 0, {start}) + '…' + slice(datum.label, -{end})"
    return f"length(datum.label) > {characters} ? {cut} : datum.label"


def heatmap(prepared: Prepared) -> alt.Chart:
    """Draw the largest topics × the largest classes: the probability of each class."""
    rows = len(prepared.largest_classes)
    return (
        _chart("heatmap", 60 + 24 * rows, cells=True)
        .mark_rect(cornerRadius=2)
        .encode(
            alt.X("name:N", sort=None, title=None).axis(labelAngle=-40, labelLimit=170),
            alt.Y("class:N")
            .title(None)
            .sort(None)
            .axis(labelLimit=185, minExtent=100, labelExpr=_middle_cut(25)),
            alt.Color("share:Q").title("probability").scale(domain=[0, 1]).legend(format="%"),
            tooltip=[
                alt.Tooltip("name:N", title="topic"),
                alt.Tooltip("class:N", title="class"),
                alt.Tooltip("share:Q", title="probability", format=".1%"),
            ],
        )
    )


def _maps(prepared: Prepared) -> dict[str, Any]:
    """Draw the map once for each way to colour it."""
    colours = {"topic": _nominal("name")}
    if any(row["class"] for row in prepared.points) and prepared.kind == "classes":
        colours["class"] = _nominal("class")
    if prepared.kind == "classes":
        colours["prediction"] = _nominal("prediction")
    if any(row["confidence"] is not None for row in prepared.points):
        confidence = alt.Color("confidence:Q").scale(domain=[0, 1])
        colours["confidence"] = confidence.legend(format="%", title="confidence", orient="bottom")
    return {f"map_{name}": _map(name, colour, prepared.number) for name, colour in colours.items()}


def _nominal(field: str) -> alt.Color:
    return alt.Color(f"{field}:N").legend(title=None, orient="bottom", labelLimit=145)


def _map(name: str, colour: alt.Color, number: str) -> Any:
    field = {"topic": "name", "class": "class", "prediction": "prediction"}.get(name)
    chart = alt.layer(_dots(colour, number), _rim(), *map(_names, SIDES))
    return chart.properties(width=WIDTH, height=480, usermeta={"colour": field, "map": True})


def _rim() -> alt.Chart:
    """Draw a dot for each topic around the map."""
    chart = alt.Chart(alt.NamedData("anchors"))
    return chart.mark_point(size=24, filled=True, opacity=0.9).encode(
        alt.X("x:Q"), alt.Y("y:Q"), tooltip=alt.Tooltip("name:N", title="topic")
    )


SIDES: dict[str, dict[str, Any]] = {
    "left": {"align": "right", "dx": -8},
    "right": {"align": "left", "dx": 8},
    "top": {"align": "center", "dy": -13},
    "bottom": {"align": "center", "dy": 13},
}
"""Position of the names of topics around the map."""


def _names(side: str) -> alt.Chart:
    """Write the names of the topics on one side of the map; the page's script shortens them."""
    chart = alt.Chart(alt.NamedData("anchors")).transform_filter(f"datum.side == '{side}'")
    return chart.mark_text(fontSize=12, baseline="middle", **SIDES[side]).encode(
        alt.X("x:Q"), alt.Y("y:Q"), text="short:N", tooltip=alt.Tooltip("name:N", title="topic")
    )


def _dots(colour: alt.Color, number: str) -> alt.Chart:
    brush = alt.selection_interval(name="brush")
    faint = alt.condition(brush, alt.value(0.75), alt.value(0.12))
    axis = alt.Axis(labels=False, ticks=False, grid=False, domain=False, title=None)
    return (
        alt.Chart(alt.NamedData("points"))
        .mark_circle(size=32)
        .encode(
            alt.X("x:Q", axis=axis).scale(domain=[-2, 2]),
            alt.Y("y:Q", axis=axis).scale(domain=[-1.4, 1.4]),
            colour,
            opacity=faint,
            tooltip=[
                alt.Tooltip("document:N", title=number),
                alt.Tooltip("name:N", title="topic"),
                alt.Tooltip("prediction:N", title="prediction"),
                alt.Tooltip("class:N", title="label"),
            ],
        )
        .add_params(brush)
    )


def _over_time(prepared: Prepared) -> dict[str, Any]:
    """Draw the number of documents per period, several shares, and one share with its interval."""
    found = prepared.over_time
    if found is None or len(found["periods"]) < 2:
        return {}
    return {"time_documents": period_documents(), "time_lines": share_lines(), "time_one": share()}


GAPS: Any = "break-paths-show-path-domains"  # a period without a share breaks its line
MARGIN = 46  # left of charts over time, so that their periods are aligned


def _periods() -> alt.X:
    axis = alt.Axis(labelAngle=0, labelOverlap="greedy", labelSeparation=8, grid=False)
    return alt.X("period:O", sort=None, title=None, axis=axis)


def _share(scale: alt.Scale | None = None) -> alt.Y:
    axis = alt.Axis(format="~%", tickCount=5, minExtent=MARGIN, maxExtent=MARGIN)
    return alt.Y("share:Q", title=None, axis=axis, scale=scale or alt.Undefined)


def _share_tooltips() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="name"),
        alt.Tooltip("period:N", title="period"),
        alt.Tooltip("told:N", title="share"),
        alt.Tooltip("documents:Q", title="documents"),
    ]


def period_documents() -> alt.Chart:
    """Draw the number of documents in each period."""
    axis = alt.Axis(tickCount=2, format="~s", minExtent=MARGIN, maxExtent=MARGIN)
    return (
        _chart("periods", 56)
        .properties(title="documents")
        .mark_bar(opacity=0.5)
        .encode(
            _periods().axis(labels=False, ticks=False),
            alt.Y("documents:Q", title=None, axis=axis),
            tooltip=[alt.Tooltip("period:N"), alt.Tooltip("documents:Q")],
        )
    )


def share_lines() -> alt.Chart:
    """Draw the shares of several topics or classes; clicking a legend entry highlights its line."""
    line = alt.selection_point(name="line", fields=["label"], bind="legend")
    chart = _chart("shares", 300, time=True).properties(title="share")
    return (
        chart.mark_line(invalid=GAPS, strokeWidth=2, point={"size": 28})
        .encode(
            _periods(),
            _share(),
            alt.Color("label:N").legend(title=None, orient="bottom"),
            opacity=alt.condition(line, alt.value(1), alt.value(0.12)),
            tooltip=_share_tooltips(),
        )
        .add_params(line)
    )


def share() -> Any:
    """Draw one share and its interval."""
    base = alt.Chart(alt.NamedData("shares")).encode(_periods())
    band = base.mark_area(invalid=GAPS, opacity=0.16).encode(
        alt.Y("low:Q", title=None), alt.Y2("high:Q")
    )
    line = base.mark_line(invalid=GAPS, strokeWidth=2, point={"size": 28})
    chart = alt.layer(band, line.encode(_share(), tooltip=_share_tooltips()))
    return chart.properties(width=WIDTH, height=300, usermeta={"time": True}, title="share")


def confusion(classes: list[str], samples: str) -> Any:
    """Draw true classes × predictions, with numbers if there are not too many classes."""
    angle = 0 if sum(map(len, classes)) <= MAX_LINE_CHARACTERS else -40
    base = alt.Chart(alt.NamedData("confusion"))
    cells = base.mark_rect(cornerRadius=2).encode(
        alt.Color("share:Q").title("of true class").scale(domain=[0, 1]).legend(format="%"),
        tooltip=[
            alt.Tooltip("truth:N", title="true class"),
            alt.Tooltip("prediction:N", title="predicted"),
            alt.Tooltip("documents:Q", title=samples),
            alt.Tooltip("share:Q", title="of true class", format=".1%"),
        ],
    )
    counts = base.mark_text(fontSize=11).encode(text="documents:Q")
    counts = counts.transform_filter(
        "datum.documents > 0" if len(classes) <= MAX_FIGURE_NUMBERS else "false"
    )
    return (
        alt.layer(cells, counts)
        .encode(
            alt.X("prediction:N", sort=None)
            .title("predicted")
            .axis(labelAngle=angle, labelLimit=160, labelExpr=_middle_cut(22)),
            alt.Y("truth:N", sort=None)
            .title("true class")
            .axis(labelLimit=185, labelExpr=_middle_cut(25)),
        )
        .properties(width=WIDTH, height=60 + 26 * len(classes), usermeta={"cells": True})
    )


def calibration(samples: str) -> alt.LayerChart:
    """Draw accuracy against confidence, and the line where they are equal."""
    base = alt.Chart(alt.NamedData("calibration"))
    unit = alt.Scale(domain=[0, 1])
    line = alt.Chart(alt.Data(values=[{"a": 0, "b": 0}, {"a": 1, "b": 1}]))
    ideal = line.mark_line(strokeDash=[4, 4], opacity=0.5).encode(
        alt.X("a:Q", scale=unit), alt.Y("b:Q", scale=unit)
    )
    dots = base.mark_circle(opacity=0.9).encode(
        alt.X("confidence:Q", scale=unit).title("mean confidence").axis(format="%", tickCount=5),
        alt.Y("accuracy:Q", scale=unit).title("accuracy").axis(format="%", tickCount=5),
        alt.Size("documents:Q").scale(range=[40, 500]).legend(None),
        tooltip=[
            alt.Tooltip("confidence:Q", format=".1%"),
            alt.Tooltip("accuracy:Q", format=".1%"),
            alt.Tooltip("documents:Q", title=samples),
        ],
    )
    return (ideal + dots).properties(width=WIDTH, height=300)


def pairs(rows: list[dict[str, Any]], logs: bool) -> alt.LayerChart:
    """Draw predicted against true numbers, and the line where they are equal.

    Axes begin where the numbers do; for logarithms they are logarithmic.
    """
    ends = _ends(rows, logs, "truth", "prediction")
    scale = _number_scale(logs, ends)
    line = alt.Chart(alt.Data(values=[{"a": end, "b": end} for end in ends]))
    ideal = line.mark_line(strokeDash=[4, 4], opacity=0.5).encode(
        alt.X("a:Q", scale=scale), alt.Y("b:Q", scale=scale)
    )
    dots = alt.Chart(alt.NamedData("pairs")).mark_circle(opacity=_opacity(rows))
    dots = dots.encode(
        alt.X("truth:Q", scale=scale).title("true value").axis(tickCount=6),
        alt.Y("prediction:Q", scale=scale).title("predicted value").axis(tickCount=6),
        tooltip=_number_tooltips(),
    )
    return (ideal + dots).properties(width=WIDTH, height=320)


def errors(rows: list[dict[str, Any]], logs: bool) -> alt.Chart:
    """Draw errors against predicted numbers; for logarithms true ÷ predicted."""
    title = "true ÷ predicted" if logs else "true − predicted"
    return (
        _chart("pairs", 320)
        .mark_circle(opacity=_opacity(rows))
        .encode(
            alt.X("prediction:Q", scale=_number_scale(logs, _ends(rows, logs, "prediction")))
            .title("predicted value")
            .axis(tickCount=6),
            alt.Y("error:Q", scale=_number_scale(logs, _ends(rows, logs, "error")))
            .title(title)
            .axis(tickCount=6),
            tooltip=_number_tooltips(),
        )
    )


def _opacity(rows: list[dict[str, Any]]) -> float:
    """Return the opacity of dots; lower if few different numbers, such as ratings, make lines."""
    lines = len({row["truth"] for row in rows})
    return 0.6 if len(rows) < 20 * lines else 0.2


def _ends(rows: list[dict[str, Any]], logs: bool, *names: str) -> list[float]:
    """Return the ends of some columns; of positive numbers only for logarithms."""
    values = [row[name] for row in rows for name in names]
    values = [value for value in values if value is not None and (value > 0 or not logs)]
    return [min(values, default=0.1), max(values, default=1.0)]


def _number_scale(logs: bool, ends: list[float]) -> alt.Scale:
    return alt.Scale(domain=ends, nice=False, **({"type": "log"} if logs else {"zero": False}))


def _number_tooltips() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("truth:Q", title="true value", format=",.4~r"),
        alt.Tooltip("prediction:Q", title="predicted value", format=",.4~r"),
    ]


def _curves(prepared: Prepared) -> dict[str, alt.Chart]:
    terms = dict.fromkeys(row["term"] for row in prepared.curves)
    return {f"curve_{term}": _curve(term) for term in terms}


def _curve(term: str) -> alt.Chart:
    return (
        _chart(f"curve_{term}", 200)
        .mark_line(strokeWidth=2)
        .encode(
            alt.X("iteration:Q").title("iteration").axis(tickMinStep=1, grid=False),
            alt.Y("value:Q").title(f"{term} term").scale(zero=False).axis(tickCount=4, format="~s"),
            tooltip=[alt.Tooltip("iteration:Q"), alt.Tooltip("value:Q", format=".6g")],
        )
    )
