"""The tool calls, results and contents of Codex rollouts."""

import json
from typing import Any

import pytest
from codex_rollouts import Row, bodies, call, codes, context, item, messages, meta, output, parsed, replies, said, told

from compactor.formats.codex_calls import tool_call, tool_output
from compactor.formats.codex_content import content_blocks


@pytest.mark.parametrize(
    ("given", "name", "arguments"),
    [
        ({"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}'}, "shell", {"command": ["ls"]}),
        ({"type": "function_call", "name": "wait", "arguments": ""}, "wait", {}),
        ({"type": "function_call", "name": "wait"}, "wait", {}),
        ({"type": "function_call", "name": "wait", "arguments": {"for": 1}}, "wait", {"for": 1}),
        ({"type": "function_call", "name": "wait", "arguments": [1]}, "wait", {"arguments": [1]}),
        ({"type": "function_call", "name": "wait", "arguments": "[1]"}, "wait", {"arguments": "[1]"}),
        ({"type": "function_call", "name": "wait", "arguments": '{"a'}, "wait", {"arguments": '{"a'}),
        ({"type": "function_call", "name": 7}, "unknown", {}),
        ({"type": "custom_tool_call", "name": "apply_patch", "input": "*** x"}, "apply_patch", {"input": "*** x"}),
        ({"type": "custom_tool_call", "name": "exec"}, "exec", {"input": ""}),
        (
            {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"], "user": None}},
            "local_shell",
            {"type": "exec", "command": ["ls"]},
        ),
        ({"type": "local_shell_call", "action": "x"}, "local_shell", {}),
        ({"type": "tool_search_call", "arguments": {"query": "tide"}}, "tool_search", {"query": "tide"}),
        ({"type": "web_search_call", "action": {"type": "search", "query": "tide"}}, "web_search", None),
        ({"type": "image_generation_call", "revised_prompt": "a crane"}, "image_generation", {"prompt": "a crane"}),
        ({"type": "image_generation_call"}, "image_generation", {}),
    ],
)
def test_a_call_keeps_its_name_and_has_an_object_as_arguments(given: Row, name: str, arguments: Row | None) -> None:
    found = tool_call(given, 3)
    assert (found.name, found.arguments) == (name, given["action"] if arguments is None else arguments)
    assert found.id == "line_3"
    assert tool_call({**given, "id": "i1"}, 3).id == "i1"
    assert tool_call({**given, "id": "i1", "call_id": "c1"}, 3).id == "c1"


HEADER = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {}\nOriginal token count: 3\nOutput:\nx"


@pytest.mark.parametrize(
    ("given", "text", "is_error"),
    [
        ("plain", "plain", False),
        (HEADER.format(0), HEADER.format(0), False),
        (HEADER.format(1), HEADER.format(1), True),
        ("Command: go test\n" + HEADER.format(-1), "Command: go test\n" + HEADER.format(-1), True),
        ("Exit code: 2\nWall time: 0 seconds\nOutput:\n", "Exit code: 2\nWall time: 0 seconds\nOutput:\n", True),
        ("Exit code: 1 means no match", "Exit code: 1 means no match", False),
        ("Wall time: 1 s\nOutput:\nExit code: 1", "Wall time: 1 s\nOutput:\nExit code: 1", False),
        ('{"output":"fine","metadata":{"exit_code":0}}', "fine", False),
        ('{"output":"bad","metadata":{"exit_code":3}}', "bad", True),
        ('{"output":"bare"}', "bare", False),
        ('{"output":7}', '{"output":7}', False),
        ('{"output":"cut', '{"output":"cut', False),
        ('[{"text":"one"},{"text":"two"}]', "one\ntwo", False),
        ('[{"text":"one"},{"n":2}]', '[{"text":"one"},{"n":2}]', False),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb", False),
        ({"type": "input_text", "text": "alone"}, "alone", False),
        ({"content": "told", "success": True}, "told", False),
        ({"content": "told", "success": False}, "told", True),
        ({"content": [{"type": "text", "text": "mcp"}], "isError": True}, "mcp", True),
        ({"rows": 3}, '{"rows":3}', False),
        (None, "", False),
        ("exec_command failed for `ls`: denied", "exec_command failed for `ls`: denied", True),
        ("exec_command verification failed: x", "exec_command verification failed: x", True),
        ("other failed", "other failed", False),
        ("aborted by user after 1.2s", "aborted by user after 1.2s", True),
        ("aborted", "aborted", True),
        ("Script failed\nWall time 0.1 seconds\nOutput:\n", "Script failed\nWall time 0.1 seconds\nOutput:\n", True),
        ("failed to parse function arguments: x", "failed to parse function arguments: x", True),
    ],
)
def test_a_result_is_what_the_model_saw_and_tells_a_failure(given: Any, text: str, is_error: bool) -> None:
    session = parsed(meta(), call("c1"), output("c1", given))
    (message,) = (m for m in messages(session) if m.role == "toolResult")
    assert (message.text(), message.is_error) == (text, is_error)
    assert (message.tool_call_id, message.tool_name) == ("c1", "exec_command")


def test_a_search_for_tools_answers_with_what_it_found() -> None:
    found = tool_output({"type": "tool_search_output", "tools": [{"name": "tide"}]}, "tool_search")
    assert found.content.blocks == [{"type": "text", "text": '[{"name":"tide"}]'}]
    session = parsed(meta(), item("tool_search_call", call_id="s1"), item("tool_search_output", call_id="s1", tools=[]))
    assert context(session) == ["assistant:  tool_search(s1)", "toolResult s1: []"]


def test_hosted_tools_are_answered_after_their_reply_with_a_note_that_the_result_is_not_there() -> None:
    search = {"type": "search", "query": "tide tables"}
    session = parsed(
        meta(),
        item("reasoning", summary=[]),
        item("web_search_call", id="w1", action=search),
        item("image_generation_call", id="g1", result="iVBORw0KGgoAAAANSUhEUgAA"),
        said("assistant", "Found."),
        call("c1"),
        output("c1"),
    )
    names = [told(m).split(" (")[0] for m in messages(session)]
    assert names == [
        "assistant: Found. web_search(w1) image_generation(g1) exec_command(c1)",
        "toolResult w1:",
        "toolResult g1: ",
        "toolResult c1: done",
    ]
    assert replies(session)[0][1].tool_calls[0].arguments == search
    assert [block.type for m in messages(session) for block in m.blocks if m.tool_call_id == "g1"] == ["image"]


def test_a_result_before_its_call_waits_for_it_and_one_without_a_call_is_kept() -> None:
    session = parsed(meta(), output("c1", "early"), output("lost", "orphan"), call("c1"), said("user", "Thanks."))
    tools = [b.message for b in bodies(session) if b.message is not None and b.message.role == "toolResult"]
    assert [(m.tool_call_id, m.tool_name, m.text()) for m in tools] == [
        ("lost", "unknown", "orphan"),
        ("c1", "exec_command", "early"),
    ]
    assert context(session)[-3:] == ["assistant:  exec_command(c1)", "toolResult c1: early", "user: Thanks."]


@pytest.mark.parametrize("call_id", [None, "", 7])
def test_a_result_that_names_no_call_is_counted(call_id: Any) -> None:
    session = parsed(meta(), item("function_call_output", call_id=call_id, output="x"))
    assert session.entries == [] and codes(session) == ["orphan_output"]


PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Move to: b.py\n*** Add File: new dir/c.py \n+z\n"
PATCH += "*** Delete File: d.py\n*** Update File: a.py\n*** End Patch"
PATCHED = [("edit", "a.py"), ("write", "b.py"), ("write", "new dir/c.py"), ("edit", "d.py")]


@pytest.mark.parametrize(
    ("made", "result", "files"),
    [
        (item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1"), "Success", PATCHED),
        (item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1"), "Exit code: 1\nOutput:\nno", []),
        (item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1"), "apply_patch failed: no", []),
        (call("c1", "apply_patch", input=PATCH), "Success", PATCHED),
        (call("c1", "shell", command=["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]), "ok", PATCHED),
        (call("c1", "exec_command", cmd=f"cd x && apply_patch <<'EOF'\n{PATCH}\nEOF"), "ok", PATCHED),
        (call("c1", "exec_command", cmd=f"cat <<'EOF' > notes\n{PATCH}\nEOF"), "ok", []),
        (call("c1", "exec_command", cmd="apply_patch --help"), "ok", []),
        (
            item("custom_tool_call", name="exec", input=f"tools.apply_patch({json.dumps(PATCH)})", call_id="c1"),
            [{"type": "input_text", "text": "Script completed"}],
            PATCHED,
        ),
        (call("c1", "exec_command", cmd="sed -n 1,9p a.py"), "text", []),
    ],
)
def test_the_files_of_a_patch_are_recorded_on_its_result(made: Row, result: Any, files: list[tuple[str, str]]) -> None:
    session = parsed(meta(), made, output("c1", result))
    (message,) = (m for m in messages(session) if m.role == "toolResult")
    nested = [] if message.nested_calls is None else message.nested_calls.calls
    assert [(c.name, c.arguments["path"]) for c in nested] == files


def test_images_are_blocks_where_the_file_holds_them_and_texts_where_it_names_them() -> None:
    found = content_blocks(
        [
            {"type": "input_image", "image_url": "data:image/jpeg;base64,AAAA"},
            {"type": "input_image", "image_url": "data:,AAAA"},
            {"type": "input_image", "image_url": "https://dock.example/crane.png"},
            {"type": "image", "data": "BBBB", "mimeType": "image/webp"},
            {"type": "image", "data": "CCCC"},
        ]
    )
    images = [(b["data"], b["mimeType"]) for b in found.blocks if b["type"] == "image"]
    assert images == [("AAAA", "image/jpeg"), ("AAAA", "image/png"), ("BBBB", "image/webp"), ("CCCC", "image/png")]
    assert found.first_text == "[image: https://dock.example/crane.png]"
    assert found.left_out == []


def test_content_without_a_counterpart_is_counted_by_kind() -> None:
    found = content_blocks(["text", None, 7, {"type": "input_audio"}, {"type": ["x"]}, {"type": "input_image"}])
    assert found.blocks == [{"type": "text", "text": "text"}]
    assert found.left_out == [
        "content of type int", "input_audio content", "content without a type", "input_image content"
    ]  # fmt: skip
    assert content_blocks([{"type": "refusal", "refusal": "No."}]).first_text == "No."
    assert content_blocks(None).blocks == []


def test_a_users_message_of_which_nothing_is_left_is_no_entry() -> None:
    session = parsed(meta(), item("message", role="user", content=[{"type": "input_audio"}]))
    assert session.entries == [] and codes(session) == ["content_left_out"]
