"""A diagnosis as JSON."""

import json

from builders import make_session
from diagnosed import diagnosis_of

from compactor.diagnosis import repair
from compactor.js_text import json_text
from compactor.views.doctor import diagnosis_json, folder_json, repair_json

DATA = make_session("user", "assistant").data()


def test_a_finding_says_where_what_and_what_to_do() -> None:
    told = diagnosis_json(diagnosis_of(DATA + b"{torn\n"))
    assert told["session"]["id"] == "harbor-0001"
    assert (told["path"], told["entries"], told["counts"]) == ("harbor.jsonl", 2, {"error": 1, "warning": 0, "note": 0})
    (found,) = told["findings"]
    assert {key: found[key] for key in ("code", "severity", "family", "line", "entryId", "fixable")} == {
        "code": "torn_last_line", "severity": "error", "family": "file", "line": 4, "entryId": None, "fixable": True,
    }  # fmt: skip
    assert found["message"].startswith("the last line is torn")
    assert "--fix" in found["advice"]
    assert [warning["code"] for warning in told["warnings"]] == ["damaged_line"]


def test_a_file_without_a_session_has_null_in_its_place() -> None:
    told = diagnosis_json(diagnosis_of(b"# notes\n"))
    assert (told["session"], told["entries"], told["warnings"]) == (None, 0, [])


def test_damage_of_another_agents_file_is_not_fixable() -> None:
    row = b'{"type":"session_meta","payload":{"id":"c1","cwd":"/quay"}}\n'
    torn = [
        found for found in diagnosis_json(diagnosis_of(row + b"{torn\n"))["findings"] if found["severity"] == "error"
    ]
    assert [(found["line"], found["fixable"]) for found in torn] == [(2, False)]
    assert "compactor convert" in torn[0]["advice"]


def test_a_repair_lists_what_was_mended_and_what_the_copy_still_has() -> None:
    data = DATA + b"{torn\n"
    made = repair(data, diagnosis_of(data))
    told = repair_json(made, diagnosis_of(made.content))
    assert (told["output"], told["changed"], told["findings"]) == ("harbor.jsonl", True, [])
    assert [found["code"] for found in told["repaired"]] == ["torn_last_line"]
    same = repair(DATA, diagnosis_of(DATA))
    assert repair_json(same, diagnosis_of(same.content))["changed"] is False


def test_a_folder_has_all_files_and_the_totals() -> None:
    told = folder_json("harbor", [diagnosis_of(DATA), diagnosis_of(b""), diagnosis_of(DATA + b"{torn")])
    assert told["counts"] == {"error": 2, "warning": 0, "note": 1}
    assert (told["folder"], told["clean"], len(told["files"])) == ("harbor", 1, 3)
    assert json.loads(json_text(told)) == told
