"""Charts: a static SVG document from a Vega-Lite specification, whatever text the session holds."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, usage
from command_line import long_session, process_env, run, saved

from compactor.branch import active_branch, find_leaf
from compactor.chart_file import chart_svg
from compactor.errors import CompactorError
from compactor.formats.pi import parse_session
from compactor.settings import CompactionSettings
from compactor.tokens import PiCounter
from compactor.views.replay import Grid, Replay, replay
from compactor.views.replay_chart import MAX_POINTS, replay_chart

pytest.importorskip("vl_convert", reason="skipped: the extra charts is not installed")

NAME = "session.jsonl"


def made(builder: SessionBuilder, *, path: str = NAME, window: int = 900, grid: Grid | None = None) -> Replay:
    session = parse_session(builder.data(), path=path)
    chosen = CompactionSettings(context_window=window, reserve_tokens=100, keep_recent_tokens=200)
    return replay(session, active_branch(session, find_leaf(session, None)), PiCounter(), chosen, grid=grid)


def compacted() -> SessionBuilder:
    builder = long_session(6)
    builder.compaction(builder.leaf or "", "s" * 100)
    return long_session(4, builder)


def texts(svg: bytes) -> list[str]:
    """What the chart says; that it parses shows that its text is escaped."""
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return [" ".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def layers(specification: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in specification["layer"]]


def test_the_chart_of_a_run_names_its_axes_with_units_and_everything_it_shows() -> None:
    said = texts(chart_svg(replay_chart(made(compacted()))))
    assert {"entry of the session file (#N)", "context (tokens)"} <= set(said)
    assert {"as it was", "with these settings", "threshold", "was compacted", "would compact"} <= set(said)
    assert f"Context of {NAME}" in said
    assert any("window 900, reserve 100, keep 200: 2 compactions; the session had 1" in text for text in said)


def test_the_chart_of_a_sweep_shows_the_number_of_compactions() -> None:
    grid = Grid(windows=(900, 2000), reserves=(100, 20), keeps=(200, 300))
    specification = replay_chart(made(compacted(), grid=grid))
    said = texts(chart_svg(specification))
    assert {"context window (tokens)", "compactions (number)", "kept word for word (tokens)"} <= set(said)
    assert said.index("20") < said.index("100")
    assert len(specification["data"]["values"]) == 8


def test_a_threshold_far_above_the_context_is_told_in_words_and_does_not_flatten_the_lines() -> None:
    specification = replay_chart(made(compacted(), window=10**6))
    assert layers(specification) == ["line", "point"]
    assert specification["title"]["subtitle"].endswith("the threshold of 999,900 is not shown")
    assert layers(replay_chart(made(compacted()))) == ["line", "rule", "point"]


@pytest.mark.parametrize(
    "path",
    [
        "a/<script>alert(1)</script>&amp;\"'.jsonl",
        "C:\\sessions\\x.jsonl",
        "a\x1b[31m\u202e\ud83d\x00.jsonl",
        "検" * 500,
        "",
    ],
)
def test_no_name_of_a_file_breaks_the_chart(path: str) -> None:
    said = texts(chart_svg(replay_chart(made(long_session(2), path=path))))
    title = next(text for text in said if text.startswith("Context of"))
    assert len(title) < 120
    assert title.isprintable()


def test_the_chart_holds_no_link_and_no_script() -> None:
    svg = chart_svg(replay_chart(made(compacted(), path="https://example.org/x.jsonl"))).decode()
    assert "<script" not in svg
    assert "href" not in svg


def test_an_empty_session_has_an_empty_chart() -> None:
    assert b"<svg" in chart_svg(replay_chart(made(SessionBuilder())))


def test_a_long_session_is_drawn_with_few_points_that_keep_the_extremes() -> None:
    builder = SessionBuilder()
    builder.user()
    for n in range(2500):
        builder.assistant("A", usage=usage(10_000 + (5000 if n == 1234 else n)))
    specification = replay_chart(made(builder, window=10**6))
    points = [point for point in specification["layer"][0]["data"]["values"] if point["series"] == "as it was"]
    assert len(points) <= MAX_POINTS
    assert max(point["tokens"] for point in points) == 15_000
    assert [point["entry"] for point in points] == sorted(point["entry"] for point in points)


def test_what_is_no_chart_is_refused_in_one_line() -> None:
    with pytest.raises(CompactorError, match=r"^the chart can't be drawn: expected a Vega-Lite chart, found [^\n]+$"):
        chart_svg({"mark": 7, "layer": "none"})


def test_without_the_extra_one_line_names_it_and_nothing_is_written(tmp_path: Path) -> None:
    """A module of the same name that can't be imported stands for the one that is not installed."""
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "vl_convert.py").write_text("raise ImportError('not installed')")
    session = saved(long_session(), tmp_path)
    chart = tmp_path / "chart.svg"
    words = [sys.executable, "-m", "evals", "replay", str(session), "--svg", str(chart)]
    paths = os.pathsep.join([str(shadow), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(words, env=process_env({"PYTHONPATH": paths}), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    missing = "a chart needs the package vl-convert-python, which is not installed: pip install 'compactor[charts]'"
    assert done.stderr == f"compactor: {missing}\n"
    assert not chart.exists()


def test_the_command_writes_the_chart_beside_its_report(tmp_path: Path) -> None:
    session = saved(compacted(), tmp_path)
    chart = tmp_path / "chart.svg"
    before = session.read_bytes()
    done = run("replay", session, "--context-window", 900, "--reserve-tokens", 100, "--svg", chart)
    assert (done.code, done.err) == (0, "")
    assert "would compact" in texts(chart.read_bytes())
    assert session.read_bytes() == before


def test_the_chart_never_replaces_the_session(tmp_path: Path) -> None:
    session = saved(long_session(), tmp_path)
    before = session.read_bytes()
    done = run("replay", session, "--svg", session)
    assert done.code == 1
    assert len(done.talk) == 1
    assert session.read_bytes() == before
