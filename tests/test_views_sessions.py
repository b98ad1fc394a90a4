"""The list of sessions as JSON: groups by folder, ids that can be typed, ages, and null for what is not known."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_homes import CODEX_ID, Home, claude_talk

from compactor.session_glance_file import END_BYTES
from compactor.session_list_file import list_sessions
from compactor.session_places_file import Wanted
from compactor.views.sessions import MIN_PREFIX_CHARS, age, id_prefixes, sessions_json

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def as_json(home: Home, *, max_bytes: int = 10**9, limit: int | None = None, **wanted: Any) -> dict[str, Any]:
    chosen = Wanted(**{"cwd": str(home.cwd), "env": home.env, **wanted})
    return sessions_json(list_sessions(chosen, limit=limit, max_bytes=max_bytes), NOW)


def test_a_session_says_all_that_is_known(home: Home) -> None:
    path = home.pi("0195aaaa-1111")
    made = as_json(home)
    assert made["folders"][0] == {"agent": "pi", "path": str(home.pi_folder()), "exists": True}
    assert [folder["exists"] for folder in made["folders"]] == [True, False, False]
    assert made["projects"] == [
        {
            "cwd": str(home.cwd),
            "exists": True,
            "sessions": [
                {
                    "id": "0195aaaa-1111",
                    "idPrefix": "0195aaaa",
                    "agent": "pi",
                    "path": str(path),
                    "name": None,
                    "firstMessage": "Where is crane 3?",
                    "startedAt": "2026-03-01T10:00:00.000Z",
                    "lastEntryAt": "2026-03-01T10:00:02.000Z",
                    "modifiedAt": "2026-03-01T12:00:00.000Z",
                    "ageSeconds": 7198,
                    "messages": 2,
                    "contextTokens": 150,
                    "totalTokens": 150,
                    "cost": 0.25,
                    "compactions": 0,
                    "branches": 1,
                    "bytes": path.stat().st_size,
                    "damagedLines": 0,
                    "counted": True,
                    "archived": False,
                    "isSubagent": False,
                    "subagentOf": None,
                    "subagents": {"files": 0, "bytes": 0, "totalTokens": 0},
                }
            ],
        }
    ]
    assert (made["older"], made["elsewhere"], made["skipped"], made["warnings"]) == (0, 0, [], [])


def test_nothing_found_is_an_empty_list(home: Home) -> None:
    made = as_json(home)
    assert made["projects"] == [] and made["warnings"] == []
    assert [folder["agent"] for folder in made["folders"]] == ["pi", "claude-code", "codex"]


def test_sessions_are_grouped_by_folder_and_say_whether_it_is_there(home: Home) -> None:
    home.pi("a", cwd="/gone")
    home.pi("b")
    home.pi("c", cwd="")
    groups = {group["cwd"]: group["exists"] for group in as_json(home, is_all=True)["projects"]}
    assert groups == {"/gone": False, str(home.cwd): True, None: None}


def test_sub_agents_are_added_up_and_unknown_tokens_stay_unknown(home: Home) -> None:
    home.claude("main")
    rows = claude_talk(sessionId="main", isSidechain=True)
    sizes = [home.claude(f"agent-{n}", rows=rows).stat().st_size for n in range(2)]
    (session,) = as_json(home)["projects"][0]["sessions"]
    assert session["subagents"] == {"files": 2, "bytes": sum(sizes), "totalTokens": 200}
    home.codex(1)
    path = home.codex(2, source={"subagent": "review"}, parent_thread_id=CODEX_ID.format(1))
    path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[:3]))
    (session,) = as_json(home, agents=("codex",))["projects"][0]["sessions"]
    assert session["subagents"]["totalTokens"] is None


def test_a_sub_agent_without_its_session_says_whose_it_is(home: Home) -> None:
    home.codex(2, source={"subagent": "review"}, parent_thread_id="gone")
    (session,) = as_json(home)["projects"][0]["sessions"]
    assert (session["isSubagent"], session["subagentOf"]) == (True, "gone")


def test_what_is_left_out_is_told(home: Home) -> None:
    home.pi("a")
    made = home.pi("b")
    made.write_bytes(made.read_bytes() + b" " * 3 * END_BYTES)
    home.write(home.pi_folder() / "c.jsonl", b"notes\n")
    home.write(home.pi_folder() / "d.jsonl", b"")
    told = as_json(home, max_bytes=0)
    assert {one["code"] for one in told["warnings"]} == {"not_counted", "skipped"}
    assert {one["reason"] for one in told["skipped"]} == {"no_session"}
    assert "1 session" in told["warnings"][0]["message"] and "2 files" in told["warnings"][1]["message"]
    assert as_json(home, limit=1)["older"] == 1


@pytest.mark.parametrize(
    ("past", "expected"),
    [
        (timedelta(minutes=-2), "in the future"),
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 min ago"),
        (timedelta(minutes=59, seconds=59), "59 min ago"),
        (timedelta(hours=1), "1 h ago"),
        (timedelta(hours=47), "47 h ago"),
        (timedelta(days=2), "2 days ago"),
        (timedelta(days=13), "13 days ago"),
        (timedelta(days=14), "2 weeks ago"),
        (timedelta(days=60), "8 weeks ago"),
        (timedelta(days=61), "2 months ago"),
        (timedelta(days=729), "24 months ago"),
        (timedelta(days=730), "2 years ago"),
    ],
)
def test_an_age_is_told_in_one_unit(past: timedelta, expected: str) -> None:
    assert age(NOW - past, NOW) == expected


@given(st.lists(st.text(min_size=1, max_size=12) | st.sampled_from(["0195aaaa-1", "0195aaaa-2", "0195aaaa"])))
def test_a_shortened_id_is_the_start_of_one_id_only_or_a_whole_one(ids: list[str]) -> None:
    prefixes = id_prefixes(ids)
    assert prefixes.keys() == set(ids)
    for one, prefix in prefixes.items():
        assert one.startswith(prefix) and len(prefix) >= min(len(one), MIN_PREFIX_CHARS)
        assert prefix == one or [other for other in prefixes if other.startswith(prefix)] == [one]
