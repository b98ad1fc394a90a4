"""The summary of a branch and its entry: what is asked, what is stored, what is refused."""

import json

import pytest
from builders import SessionBuilder, tool_call
from hypothesis import given
from hypothesis import strategies as st
from replies import WHOLE_REPLY
from strategies import sessions

from compactor.branch_reading import BranchReading, read_branch
from compactor.branch_summary import MadeBranchSummary, branch_source, summarize_branch
from compactor.clients.extractive import ExtractiveClient
from compactor.errors import ReplyRejected
from compactor.events import EntryStamp
from compactor.formats.pi import parse_session
from compactor.messages import Usage
from compactor.model import ModelClient, ModelRequest, ModelResponse, Notice, Observer, Streamed
from compactor.prompt_file import load_prompts
from compactor.requests import SummaryOptions
from compactor.summary import parse_summary
from compactor.tokens import PiCounter

STAMP = EntryStamp(id="feedbeef", timestamp="2026-03-02T08:00:00.000Z", milliseconds=1772438400000)
RULE = "Never dredge the harbor after 22:00."
REPLY = WHOLE_REPLY.split("\n\n## Critical")[0]


class Fixed:
    """A client that gives one reply and keeps what it was asked."""

    name = "fixed"
    model = None

    def __init__(self, reply: str = REPLY, usage: Usage | None = None) -> None:
        self.asked: list[ModelRequest] = []
        self.response = ModelResponse(text=reply, usage=usage)

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        self.asked.append(request)
        observe(Streamed(chars=len(self.response.text)))
        return self.response


def reading(builder: SessionBuilder, *, budget: int = 0, exact: bool = False) -> BranchReading:
    """From the second newest entry of the file to the newest."""
    session = builder.session(exact=exact)
    return read_branch(session, session.entries[-2], session.entries[-1], PiCounter(), budget, exact=exact)


def forked() -> SessionBuilder:
    builder = SessionBuilder()
    fork = builder.user("Plan the harbor.")
    builder.user(f"Take the north berth. {RULE}")
    builder.assistant("I look.", tool_call("c1", "bash", command="make test"), tool_call("c2", "edit", path="b.csv"))
    builder.result("c1", "2 failed, 1 passed\n\nCommand exited with code 1", isError=True)
    builder.result("c2", "saved")
    builder.assistant("It is full. </conversation>")
    builder.back_to(fork)
    builder.user("Take the east berth.")
    return builder


def made_of(
    found: BranchReading, client: ModelClient, *, exact: bool = False, window: int | None = None
) -> MadeBranchSummary:
    options = SummaryOptions(
        prompts=load_prompts("default"), exact=exact, window_tokens=window, max_output_tokens=300 if window else 8192
    )
    seen: list[Notice] = []
    made = summarize_branch(found, options, client, STAMP, seen.append)
    assert not isinstance(client, Fixed) or len(seen) == len(client.asked)
    return made


def test_the_request_shows_calls_without_results_and_the_branch_sections() -> None:
    client = Fixed()
    made_of(reading(forked()), client)
    [asked] = client.asked
    assert asked.kind == "branch"
    assert '[Assistant tool calls]: bash(command="make test"); edit(path="b.csv")' in asked.context
    assert "2 failed" not in asked.prompt and "no result was recorded" not in asked.prompt
    assert asked.context.count("</conversation>") == 1
    assert RULE in asked.instructions
    assert "## Next Steps" in asked.instructions and "## Critical Context" not in asked.instructions
    assert "a tool result shows it" not in asked.instructions, "there are no results to show anything"


def test_to_pi_the_text_goes_out_as_it_is() -> None:
    client = Fixed()
    made_of(reading(forked(), exact=True), client, exact=True)
    assert client.asked[0].context.count("</conversation>") == 2
    assert "2 failed" not in client.asked[0].prompt


def test_the_entry_is_a_child_of_the_entry_continued_from_in_the_order_of_pi() -> None:
    usage = Usage(input=7, output=3, total_tokens=10)
    made = made_of(reading(forked()), Fixed(usage=usage))
    assert list(made.entry) == [
        "type", "id", "parentId", "timestamp", "fromId", "summary", "details", "usage", "fromHook",
    ]  # fmt: skip
    assert made.entry["type"] == "branch_summary"
    assert (made.entry["id"], made.entry["parentId"], made.entry["fromId"]) == ("feedbeef", "00000007", "00000006")
    assert made.entry["details"] == {"readFiles": [], "modifiedFiles": ["b.csv"]}
    assert made.entry["usage"]["totalTokens"] == 10
    assert made.entry["fromHook"] is False
    assert made.entry["summary"] == made.summary.text
    assert json.loads(made.line) == made.entry
    assert made.line.endswith(b"\n") and made.line.count(b"\n") == 1


def test_a_client_without_usage_leaves_it_out() -> None:
    assert "usage" not in made_of(reading(forked()), Fixed()).entry


def test_the_text_is_the_reply_the_lost_rules_and_the_files() -> None:
    text = made_of(reading(forked()), Fixed()).summary.text
    assert text.startswith("## Goal\nMove crane 3.")
    assert f"- {RULE}" in text
    assert text.endswith("\n\n<modified-files>\nb.csv\n</modified-files>")
    exact = made_of(reading(forked(), exact=True), Fixed(), exact=True).summary.text
    assert exact == REPLY + "\n\n<modified-files>\nb.csv\n</modified-files>"


def test_a_reply_with_all_sections_of_a_branch_lacks_none() -> None:
    made = made_of(reading(forked()), Fixed())
    assert made.summary.warnings == ()
    assert made_of(reading(forked()), Fixed("## Goal\nx")).summary.warnings[0].code == "missing_sections"


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("reply", ["", " \n"])
def test_a_blank_reply_makes_no_entry(reply: str, exact: bool) -> None:
    builder = SessionBuilder()
    fork = builder.user("Plan.")
    builder.user("North.")
    builder.back_to(fork)
    builder.user("East.")
    with pytest.raises(ReplyRejected, match="Branch summarization failed: the reply holds"):
        made_of(reading(builder, exact=exact), Fixed(reply), exact=exact)


def test_a_rule_in_what_was_not_read_reaches_the_model_and_the_summary() -> None:
    builder = SessionBuilder()
    fork = builder.user("Plan.")
    builder.user(RULE)
    builder.assistant("x" * 2000)
    builder.back_to(fork)
    builder.user("East.")
    client = Fixed()
    found = reading(builder, budget=501)
    text = made_of(found, client).summary.text
    assert RULE not in client.asked[0].context
    assert RULE in client.asked[0].instructions
    assert f"- {RULE}" in text


def test_a_branch_larger_than_the_window_of_the_summarizer_is_told_in_parts() -> None:
    builder = SessionBuilder()
    fork = builder.user("Plan.")
    for n in range(30):
        builder.user(f"Question {n} " + "about the berth " * 30)
        builder.assistant("Looking.", tool_call(f"c{n}", "bash", command="ls"))
        builder.result(f"c{n}", f"RESULT-{n}")
    builder.back_to(fork)
    builder.user("East.")
    client = Fixed()
    made_of(reading(builder), client, window=4000)
    kinds = [request.kind for request in client.asked]
    assert kinds.count("part") > 1 and kinds[-1] == "merge"
    assert "RESULT-" not in "".join(request.prompt for request in client.asked)
    assert all("no result was recorded" not in request.prompt for request in client.asked)
    assert "## Critical Context" not in client.asked[-1].instructions


def test_without_a_model_the_summary_tells_outcomes_and_every_section_of_a_branch() -> None:
    text = made_of(reading(forked()), ExtractiveClient()).summary.text
    document = parse_summary(text, "branch")
    assert (document.missing, document.doubled) == ((), ())
    assert "`make test` failed: “2 failed, 1 passed”" in text
    assert "changed `b.csv`" in text
    assert RULE in text
    assert "## Critical Context" not in text


def test_without_a_model_the_summary_carries_what_an_earlier_branch_found() -> None:
    builder = SessionBuilder()
    fork = builder.user("Plan.")
    builder.branch_summary("## Goal\nSouth.\n\n## Key Decisions\n- **no ferry**: the south berth is too shallow")
    builder.assistant("North it is.")
    builder.back_to(fork)
    builder.user("East.")
    text = made_of(reading(builder), ExtractiveClient()).summary.text
    assert "**no ferry**: the south berth is too shallow" in (parse_summary(text).body("Key Decisions") or "")


@given(builder=sessions(max_steps=12), data=st.data(), exact=st.booleans())
def test_any_branch_can_be_summarized_and_its_entry_read_back(
    builder: SessionBuilder, data: st.DataObject, exact: bool
) -> None:
    session = builder.session(exact=exact)
    if not session.entries:
        return
    places = st.integers(0, len(session.entries) - 1).map(lambda n: session.entries[n])
    found = read_branch(session, data.draw(places), data.draw(places), PiCounter(), 0, exact=exact)
    if found.unread is not None:
        return
    assert len(branch_source(found).history) == len(branch_source(found).history_ids)
    made = made_of(found, ExtractiveClient(), exact=exact)
    after = parse_session(builder.data() + made.line, exact=exact)
    added = after.entries[-1]
    assert added.parent_id == found.target.id
    assert added.body.from_id == found.left.id
    assert added.body.summary == made.entry["summary"]
