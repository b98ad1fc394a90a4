"""The fixed words around quotations, in English and in Chinese: all that a summary says by itself.

Takes the name of a language; gives the frames. Headings are not here: they are English in every summary.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """Words of one language; each stands before or after a quotation."""

    current: str
    latest: str
    opened: str
    no_request: str
    goes_on: str
    none_open: str
    goal: str
    constraint: str
    not_answered: str
    asked_back: str
    last_said: str
    earlier: str
    worked: str
    told_before: str
    answered: str
    no_answer: str
    changed: str
    committed: str
    so_far: str
    passed: str
    failed: str
    unknown: str
    clean: str
    ran: str
    stale: str
    no_result: str
    lifted: str
    user: str
    assistant: str
    tool: str
    limits: str
    partly_read: str
    not_readable: str
    todo: str
    other_branch: str
    more: str
    """`{n}` is a number."""
    more_briefly: str
    """The same where every character counts."""
    times: str
    """Before a number."""


ENGLISH = Frames(
    current="Current request",
    latest="Latest request here, unanswered",
    opened="This turn was opened by a message that the user did not type",
    no_request="No request of the user in this part.",
    goes_on="It goes on from",
    none_open="Every request told here is answered; see Done.",
    constraint="Constraint",
    goal="Goal stated by the user",
    not_answered="No final answer yet to the request",
    asked_back="The assistant's last reply asks",
    last_said="last said",
    earlier="Request",
    worked="Work for the request",
    told_before="from the previous summary",
    answered="answered",
    no_answer="no final answer seen",
    changed="changed",
    committed="committed",
    so_far="For this request so far",
    passed="passed",
    failed="failed",
    unknown="requested, no result seen",
    clean="ran, no error in the output shown, exit status not known",
    ran="ran, exit status not known",
    stale="files were changed after this run",
    no_result="requested, not known to have run",
    lifted="changed later by the user",
    user="user said",
    assistant="assistant said",
    tool="tool result",
    limits="Limits",
    partly_read="Read only in part (the tool result was cut)",
    not_readable="Older history was compacted without a summary that can be read; what it held is not told here.",
    todo="on the todo list",
    other_branch="From another branch",
    more="(+{n} more, left out for length)",
    more_briefly="(+{n} more)",
    times="×",
)

CHINESE = Frames(
    current="当前请求",
    latest="此部分最后的请求,尚未答复",
    opened="此轮由一条并非用户输入的消息开始",
    no_request="此部分没有用户的请求。",
    goes_on="承接自",
    none_open="此部分的请求均已答复,见 Done。",
    constraint="约束",
    goal="用户说明的目标",
    not_answered="此请求尚无最终答复",
    asked_back="助手最后的回复在提问",
    last_said="最后说",
    earlier="请求",
    worked="为此请求所做的工作",
    told_before="来自之前的摘要",
    answered="已答复",
    no_answer="未见最终答复",
    changed="已修改",
    committed="已提交",
    so_far="此请求目前为止",
    passed="通过",
    failed="失败",
    unknown="已请求,未见结果",
    clean="已运行,所示输出无错误,退出状态未知",
    ran="已运行,退出状态未知",
    stale="此次运行后文件又有修改",
    no_result="已请求,不确定是否执行",
    lifted="用户后来更改",
    user="用户说",
    assistant="助手说",
    tool="工具结果",
    limits="局限",
    partly_read="只读了一部分(工具结果被截断)",
    not_readable="更早的历史在压缩时没有留下可读的摘要,其中的内容未在此说明。",
    todo="待办列表",
    other_branch="来自另一分支",
    more="(另有 {n} 条,因篇幅省略)",
    more_briefly="(另有 {n} 条)",
    times="×",
)

ALL_FRAMES = (ENGLISH, CHINESE)


def frames_for(language: str) -> Frames:
    """The frames for a conversation in this language (its English name); English where there are no others."""
    return CHINESE if language == "Chinese" else ENGLISH
