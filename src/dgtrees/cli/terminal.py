"""Everything that `dgt` prints goes through here, so that nobody's data can command a terminal.

Column names, labels and file names are other people's text. What people read shows control
characters and reversals of direction as backslash escapes; JSON has escapes of its own for them,
and CSV keeps its bytes, but on a terminal.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

__all__ = ["json_text", "plain", "say", "watched"]

# C0 but for tab and line feed, DEL, C1, line and paragraph separators, the marks, embeddings,
# overrides and isolates of bidirectional text, and bytes of a file name that are no text.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Text that a terminal shows and does not obey.

    >>> print(plain("red: \\x1b[31m"), plain("caf\\u00e9"))
    red: \\x1b[31m café
    """
    return _UNSAFE.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def say(text: str, stream: Any = None) -> None:
    """Print for people, on standard output if no stream is given."""
    print(plain(text), file=sys.stdout if stream is None else stream)


def json_text(value: Any) -> str:
    """One line of JSON that means exactly `value` and holds no control characters.

    >>> print(json_text({"a\\x9b": "é"}))
    {"a\\u009b": "é"}
    """
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def watched(stream: Any) -> Any:
    """A stream for data: as it is, but plain where it is a terminal's."""
    return _Plain(stream) if stream.isatty() else stream


class _Plain:
    """Writes plain text to a stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(plain(text))
        return len(text)
