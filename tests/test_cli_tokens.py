"""`compactor tokens` from start to end."""

import json
from pathlib import Path

import pytest
from builders import SessionBuilder, tool_call, usage
from command_line import Ran, run, run_process
from pytest_httpserver import HTTPServer
from test_calibration import talk
from test_views_tokens import view_of

from compactor.cli.tokens_report import tokens_text


def saved(builder: SessionBuilder, folder: Path) -> Path:
    path = folder / "session.jsonl"
    path.write_bytes(builder.data())
    return path


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return saved(talk(60), tmp_path)


def test_json_has_the_documented_fields_for_every_counter(session: Path) -> None:
    (found,) = run_process("tokens", session, "--json").objects
    assert list(found) == [
        "session", "counter", "context", "byRole", "byKind", "largest", "counters", "calibration", "warnings",
    ]  # fmt: skip
    assert list(found["counters"]) == ["pi", "o200k", "cl100k", "calibrated"]
    for counter in found["counters"].values():
        assert {"steps", "warmup", "predicted", "reported", "ratio", "medianStepError", "p90StepError"} <= set(counter)
    assert found["counter"] == "calibrated"
    assert abs(found["counters"]["calibrated"]["ratio"] - 1) < 0.05


def test_text_has_the_same_figures_and_a_chart(session: Path) -> None:
    done = run("tokens", session)
    (found,) = run("tokens", session, "--json").objects
    assert done.code == 0
    assert f"{found['context']['tokens']:,} tokens, reported by the provider" in done.out
    for name, counter in found["counters"].items():
        line = next(line for line in done.out.splitlines() if line.strip().startswith(f"{name} "))
        assert f"{counter['predicted']:,}" in line and f"{counter['ratio']:.2f}" in line
    assert "half of the steps were less than" in done.out
    chart = [line for line in done.out.splitlines() if "┤" in line]
    assert len(chart) == 12 and any("c" in line for line in chart)
    assert all(len(line) <= 100 for line in chart)


@pytest.mark.parametrize("columns", [40, 68, 69, 94, 95, 200])
def test_the_report_is_no_wider_than_the_screen(columns: int) -> None:
    builder = talk(60)
    builder.user("What now?")
    builder.assistant("x", usage=usage(10, output=1))
    builder.message("tide" * 30, content="What next?")
    builder.user("And then?")
    lines = tokens_text(view_of(builder, "calibrated"), None, columns).splitlines()
    assert max(map(len, lines)) <= columns
    (head,) = [line for line in lines if line.startswith("  counter ")]
    assert ("predicted" in head, "toolResult" in head) == (columns >= 95, columns >= 69)
    assert all(word in head for word in ("ratio", "median", "9 of 10"))


def test_what_can_not_be_known_is_named(tmp_path: Path) -> None:
    done = run("tokens", saved(talk(60, told=0.01), tmp_path))
    assert "only guessed: 59 replies whose output was reported while it was still streaming" in done.out
    builder = talk(30)
    builder.assistant("x", usage=usage(10, output=1))
    done = run("tokens", saved(builder, tmp_path))
    assert "not counted: 1 reply after which the context was smaller" in done.out
    assert "only guessed" not in done.out


def test_what_was_reported_beside_the_messages_is_told(tmp_path: Path) -> None:
    path = saved(talk(30), tmp_path)
    assert "were reported beside them: system prompt" in run("tokens", path).out
    assert "beside them" not in run("tokens", path, "--counter", "pi").out
    builder = talk(30)
    builder.user("Go on.")
    builder.assistant("x", usage=usage(10, output=1))
    assert "less were reported" in run("tokens", saved(builder, tmp_path)).out


def test_reading_again_gives_the_same_bytes(session: Path) -> None:
    assert run("tokens", session).out == run("tokens", session).out


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_a_session_with_few_steps_says_what_it_does_not_know(tmp_path: Path, steps: int) -> None:
    done = run("tokens", saved(talk(steps + 1 if steps else 0), tmp_path))
    assert done.code == 0
    assert ("shipped figures" if not steps else "too few steps") in done.out


def test_session_text_does_nothing_on_a_terminal(tmp_path: Path) -> None:
    builder = talk(3)
    builder.message("\x1b[2Jrole\u202e", content="\x1b]0;x\x07")
    done = run("tokens", saved(builder, tmp_path))
    assert "\x1b" not in done.out and "\u202e" not in done.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--exact"], "--exact needs --client anthropic"),
        (["--model", "x"], "only with --exact"),
        (["--client", "openai", "--exact"], "'openai' is not"),
        (["--counter", "guess"], "'guess' is not"),
    ],
)
def test_options_that_make_no_sense_are_refused(session: Path, options: list[str], said: str) -> None:
    done = run("tokens", session, *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def exact(session: Path, server: HTTPServer, *options: str) -> Ran:
    words = ("--exact", "--client", "anthropic", "--base-url", server.url_for(""), *options)
    return run("tokens", session, *words)


def test_the_provider_counts_the_context_and_gets_no_unpaired_call(tmp_path: Path, httpserver: HTTPServer) -> None:
    builder = SessionBuilder()
    builder.user("Go.")
    builder.assistant("", tool_call("c1"), usage=usage(90, output=9), provider="anthropic", model="claude-x")
    httpserver.expect_request("/v1/messages/count_tokens", method="POST").respond_with_json({"input_tokens": 4321})
    path = saved(builder, tmp_path)
    done = exact(path, httpserver)
    assert "4,321 tokens counted by anthropic for claude-x" in done.out
    assert "not as in the session: results of calls, added" in done.out
    (request, _), *_ = httpserver.log
    body = json.loads(request.get_data())
    assert body["model"] == "claude-x"
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    (found,) = exact(path, httpserver, "--json", "--model", "claude-y").objects
    assert (found["exact"]["tokens"], found["exact"]["model"]) == (4321, "claude-y")


def test_a_session_of_another_provider_needs_the_name_of_a_model(session: Path, httpserver: HTTPServer) -> None:
    done = exact(session, httpserver)
    assert (done.code, done.out) == (1, "")
    assert "name one with --model" in done.err
    assert not httpserver.log


def test_an_endpoint_that_refuses_gives_one_line(session: Path, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/v1/messages/count_tokens").respond_with_data("no", status=400)
    done = exact(session, httpserver, "--model", "claude-x")
    assert (done.code, done.out, len(done.talk)) == (1, "", 1)


def test_an_empty_context_is_not_asked_for(tmp_path: Path, httpserver: HTTPServer) -> None:
    done = exact(saved(SessionBuilder(), tmp_path), httpserver, "--model", "claude-x")
    assert "0 tokens counted" in done.out
    assert not httpserver.log
