"""Arrays of numbers and texts as C writes them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["array_text", "strings", "wrapped"]


def array_text(name: str, array: np.ndarray) -> str:
    """An array of numbers with all their digits, as C declares it."""
    kind = "double" if array.dtype.kind == "f" else "int"
    shape = "".join(f"[{size}]" for size in array.shape)

    def braced(part: Any, indent: str) -> str:
        if isinstance(part[0], list):
            return "{" + f",\n{indent}".join(braced(p, f"{indent} ") for p in part) + "}"
        return "{" + wrapped([repr(value) for value in part], indent) + "}"

    return f"static const {kind} {name}{shape} = {braced(array.tolist(), ' ')};\n"


def wrapped(words: list[str], indent: str, width: int = 96) -> str:
    """Words with commas, in lines of at most a width."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + len(word) + 2 > width:
            lines.append(line)
            line = ""
        line += f"{word}, "
    return f"\n{indent}".join([*lines, line]).rstrip(", ")


def strings(declaration: str, texts: list[str]) -> str:
    """Texts as an array of C."""
    words = [f'"{_escaped(text)}"' for text in texts]
    return f"{declaration} = {{\n    {wrapped(words, '    ')}}};\n"


def _escaped(text: str) -> str:
    """UTF-8 as C takes it; octal, because hexadecimal escapes would swallow what follows."""
    plain = set(map(ord, " !#$%&'()*+,-./:;<=>@[]^_`{|}~")) | set(range(48, 58))
    plain |= set(range(65, 91)) | set(range(97, 123))
    return "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode())
