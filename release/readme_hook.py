"""README as PyPI shows it: links and pictures lead to the repository named in ``[project.urls]``.

PyPI has no files beside the README, so that relative links are dead there. Without a repository in
``[project.urls]`` links become plain text and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Gives the package its long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``readme``; hatchling calls this with the ``[project]`` table and the version."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = metadata.get("urls", {}).get("Repository")
        readme = make_absolute(text, repository, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def make_absolute(text: str, repository: str | None, version: str) -> str:
    """The text with links into the repository, at the tag of this version."""

    def replace(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        if repository is None:
            return "" if picture else words
        kind = "raw" if picture else "blob"
        return f"{picture}[{words}]({repository.rstrip('/')}/{kind}/v{version}/{target})"

    return LINK.sub(replace, text)
