"""What the user typed, in a message that the agent's program wrote in the user's name.

Takes the text of a user message; gives the user's own words. Claude Code puts its notes (an interruption, the output
of its own commands, the end of a background task) into user messages, and a slash command between tags.
"""

import re

_NOTE = re.compile(
    r"\[Request interrupted by user(?: for tool use)?\]"
    r"|<((?:local-command|bash)-(?:stdout|stderr|caveat)|(?:task|agent)-notification)>.*",
    re.DOTALL,
)
_COMMAND = re.compile(r"<command-(?:name|message|args|contents)>")
_NAME = re.compile(r"<command-name>\s*/?(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)


def typed(text: str) -> str:
    """The user's words without blanks around them: a slash command as it was typed, nothing for a program's note."""
    text = text.strip()
    if text[:1] not in ("<", "["):
        return text
    if _NOTE.fullmatch(text):
        return ""
    name = _NAME.search(text) if _COMMAND.match(text) else None
    if name is None:
        return text
    arguments = _ARGUMENTS.search(text)
    return f"/{name.group(1)} {arguments.group(1) if arguments else ''}".strip()
