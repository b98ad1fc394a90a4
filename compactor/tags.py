"""Keeps session text from posing as the blocks that a request or a summary is made of."""

import re

_TAGS = "(?:conversation|previous-summary|part-summary|read-files|modified-files)"
_LIVE_TAG = re.compile(
    # A name straight after `<`, or after a slash, makes a tag in any case. After blanks alone it may be a comparison
    # in source code, so there the tag must end or go on with an attribute.
    rf"<(?=(?i:{_TAGS}(?![\w-])|\s*+/\s*+{_TAGS}(?![\w-])|\s++{_TAGS}(?:\s*+/?+\s*+>|\s++[\w:.-]++\s*+=)))"
)


def neutralise(text: str) -> str:
    """The text with the `<` of tags that could close or fake our blocks written as `&lt;`; all else is unchanged.

    Any case counts, with blanks or attributes inside the tag. Doing it twice changes nothing more.
    """
    return _LIVE_TAG.sub("&lt;", text) if "<" in text else text
