"""Pages of the documentation that are made when it is built: the notebooks of examples/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every notebook, and the notebook itself to download."""
    for path in sorted((Path(config.docs_dir).parent / "examples").glob("*.ipynb")):
        page = f"notebooks/{path.stem}.md"
        files.append(File.generated(config, page, content=to_markdown(path)))
        files.append(File.generated(config, f"notebooks/{path.name}", content=path.read_text()))
    return files


def to_markdown(path: Path) -> str:
    """A notebook with its stored outputs, and a link to download it."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                parts.append(f"![a picture](data:image/png;base64,{data['image/png']})")
            elif "text/html" in data:
                html = " ".join("".join(data["text/html"]).split())
                parts.append(f'<div class="output">{html}</div>')
            else:
                plain = "".join(output.get("text") or data["text/plain"]).rstrip()
                parts.append(f"```text\n{plain}\n```")
    parts.append(f"[Download this notebook]({path.name})")
    return "\n\n".join(parts) + "\n"
