"""A replay as a chart: a Vega-Lite specification with its data inside.

One run: the size of the context along the session, as it was and as it would have been, with the threshold, the firings
and the session's own compactions. A sweep: how often each combination compacts.
"""

from collections.abc import Sequence
from typing import Any

from compactor.views.replay import Replay
from compactor.views.replay_run import Freed, Run

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH, HEIGHT = 860, 360
MAX_POINTS = 2000
"""Of a line; no more can be told apart on the width."""

MAX_TITLE_CHARS = 90

REAL, SIMULATED, THRESHOLD = "as it was", "with these settings", "threshold"
SHAPE_NAMES = {REAL: "was compacted", SIMULATED: "would compact"}
COLORS = {REAL: "#7f7f7f", SIMULATED: "#1f77b4", THRESHOLD: "#d62728"}

Point = dict[str, Any]


def replay_chart(made: Replay) -> dict[str, Any]:
    """The chart of a replay; text from the session is on one line and printable."""
    inside = _sweep_chart(made) if made.is_sweep else _walk_chart(made, made.runs[0])
    config = {"axis": {"labelFontSize": 12, "titleFontSize": 13}, "legend": {"labelFontSize": 12, "titleFontSize": 12}}
    return {"$schema": SCHEMA, "background": "white", "padding": 12, "config": config, **inside}


def _title(made: Replay, below: str) -> dict[str, Any]:
    name = made.session.path.replace("\\", "/").rsplit("/", 1)[-1]
    shown = "".join(c if c.isprintable() else "\ufffd" for c in name)
    shown = shown if len(shown) <= MAX_TITLE_CHARS else shown[: MAX_TITLE_CHARS - 1] + "…"
    return {"text": f"Context of {shown}", "subtitle": below, "anchor": "start", "fontSize": 15, "subtitleFontSize": 12}


def _walk_chart(made: Replay, run: Run) -> dict[str, Any]:
    settings, walk = made.settings, made.walk
    threshold = settings.context_window - settings.reserve_tokens
    as_it_was = [_point(check.index, check.tokens, REAL) for check in walk.checks]
    lines = _thinned(as_it_was) + _thinned(_simulated(made, run))
    highest = max((point["tokens"] for point in lines), default=0)
    layers = [_line(lines)]
    below = (
        f"window {settings.context_window:,}, reserve {settings.reserve_tokens:,}, keep {settings.keep_recent_tokens:,}"
    )
    below += f": {run.count:,} compactions; the session had {len(walk.real):,}"
    if 0 < threshold <= 2 * highest:
        layers.append(_threshold(threshold))
    else:
        below += f"; the threshold of {threshold:,} is not shown"
    fired = [_point(f.check.index, f.context_tokens, SIMULATED) for f in run.firings if isinstance(f.outcome, Freed)]
    really = [_point(real.entry.index, real.context_tokens, REAL) for real in walk.real]
    layers.append(_marks([*_thinned(fired), *_thinned(really)]))
    return {"title": _title(made, below), "width": WIDTH, "height": HEIGHT, "layer": layers}


def _simulated(made: Replay, run: Run) -> list[Point]:
    """The simulated context: at each firing it falls."""
    after = {f.check.position: f.outcome.tokens_after for f in run.firings if isinstance(f.outcome, Freed)}
    points: list[Point] = []
    for check, size in zip(made.walk.checks, run.sizes, strict=True):
        points.append(_point(check.index, size, SIMULATED))
        if check.position in after:
            points.append(_point(check.index, after[check.position], SIMULATED))
    return points


def _point(index: int, tokens: int, series: str) -> Point:
    return {"entry": index, "tokens": tokens, "series": series}


def _thinned(points: Sequence[Point]) -> list[Point]:
    """The points in order, with few enough of them: of each stretch the lowest and the highest."""
    for n, point in enumerate(points):
        point["order"] = n
    size = -(-2 * len(points) // MAX_POINTS)
    if size <= 2:
        return list(points)
    kept: list[Point] = []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        ends = (min(stretch, key=lambda p: p["tokens"]), max(stretch, key=lambda p: p["tokens"]))
        kept += sorted(ends, key=lambda p: p["order"])
    return kept


def _axes() -> dict[str, Any]:
    entry: dict[str, Any] = {"field": "entry", "type": "quantitative", "title": "entry of the session file (#N)"}
    entry |= {"axis": {"format": ",d", "tickMinStep": 1, "labelOverlap": True, "tickCount": 12}}
    tokens = {"field": "tokens", "type": "quantitative", "title": "context (tokens)", "axis": {"format": ",d"}}
    scale = {"domain": list(COLORS), "range": list(COLORS.values())}
    color = {"field": "series", "type": "nominal", "scale": scale, "title": None, "legend": {"orient": "top"}}
    return {"x": entry, "y": tokens, "color": color}


def _line(points: Sequence[Point]) -> dict[str, Any]:
    encoding = _axes() | {"order": {"field": "order", "type": "quantitative"}}
    return {"data": {"values": list(points)}, "mark": {"type": "line", "strokeWidth": 1.5}, "encoding": encoding}


def _threshold(tokens: int) -> dict[str, Any]:
    axes = _axes()
    values = [{"tokens": tokens, "series": THRESHOLD}]
    encoding = {"y": axes["y"], "color": axes["color"]}
    return {"data": {"values": values}, "mark": {"type": "rule", "strokeDash": [6, 4]}, "encoding": encoding}


def _marks(points: Sequence[Point]) -> dict[str, Any]:
    """The compactions, each with the shape of its kind."""
    values = [point | {"what": SHAPE_NAMES[point["series"]]} for point in points]
    scale = {"domain": list(SHAPE_NAMES.values()), "range": ["diamond", "triangle-down"]}
    shape = {"field": "what", "type": "nominal", "scale": scale, "title": None, "legend": {"orient": "top"}}
    mark = {"type": "point", "size": 90, "filled": True, "opacity": 1}
    return {"data": {"values": values}, "mark": mark, "encoding": _axes() | {"shape": shape}}


def _sweep_chart(made: Replay) -> dict[str, Any]:
    """Bars: compactions by window, one colour a budget, one panel a reserve."""
    values = [_cell(run) for run in made.runs]
    reserves = list(dict.fromkeys(value["reserve"] for value in values))
    bars = {
        "x": {"field": "window", "type": "ordinal", "title": "context window (tokens)", "sort": None},
        "xOffset": {"field": "keep", "type": "nominal", "sort": None},
        "y": {"field": "count", "type": "quantitative", "title": "compactions (number)"},
        "color": {"field": "keep", "type": "nominal", "title": "kept word for word (tokens)", "sort": None},
    }
    numbers = {"text": {"field": "count", "type": "quantitative"}, "color": {"value": "#333"}}
    text = {"mark": {"type": "text", "dy": -7, "fontSize": 10}, "encoding": numbers}
    panel = {"height": HEIGHT, "encoding": bars, "layer": [{"mark": "bar"}, text]}
    column = {"field": "reserve", "type": "nominal", "title": "reserve (tokens)", "sort": reserves}
    title = _title(made, f"compactions of {len(made.walk.checks):,} replies; the session had {len(made.walk.real):,}")
    return {"title": title, "data": {"values": values}, "facet": {"column": column}, "spec": panel}


def _cell(run: Run) -> Point:
    settings = run.settings
    return {
        "window": f"{settings.context_window:,}",
        "reserve": f"{settings.reserve_tokens:,}",
        "keep": f"{settings.keep_recent_tokens:,}",
        "count": run.count,
    }
