"""Check what would be released: `make release-check`, or `python release/check.py --help`.

1. Builds the sdist and, from it, the wheel, twice; both must be equal to the last bit.
2. Looks into the wheel and the sdist, and at the README as PyPI will show it.
3. Installs the wheel into clean environments, without extras and with each, and tries it there.

Nothing of this checkout's environment is used, and nothing is uploaded.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from probes import ALONE, EXTRAS

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ["build", "twine"]


class CheckError(Exception):
    """What must not be released."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--python", nargs="*", default=[sys.executable], help="interpreters to install into"
    )
    parser.add_argument(
        "--extras", nargs="*", default=list(EXTRAS), choices=EXTRAS, help="extras to try"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="where the files go")
    options = parser.parse_args()
    try:
        wheel = check_files(options.output)
        for python in options.python:
            check_installed(python, wheel, options.extras)
    except CheckError as error:
        sys.exit(f"not fit for release: {error}")
    print("fit for release")


def check_files(output: Path) -> Path:
    """Build and look; the wheel's path."""
    with tempfile.TemporaryDirectory() as folder:
        tools = make_environment(sys.executable, Path(folder) / "tools", *TOOLS)
        first = build(tools, output)
        second = build(tools, Path(folder) / "again")
        if first != second:
            raise CheckError(f"two builds differ: {first} and {second}")
        for name, digest in first.items():
            size = (output / name).stat().st_size / 1e6
            print(f"{name}: {size:.2f} MB, twice the same, sha256 {digest}")
        wheel, sdist = sorted(map(output.joinpath, first), key=lambda path: path.suffix != ".whl")
        run(tools, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    check_wheel(wheel)
    check_sdist(sdist)
    return wheel


def build(tools: Path, output: Path) -> dict[str, str]:
    """Build into a folder; sha256 by file name. Files bear the time of the last commit."""
    time = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    environment = {"SOURCE_DATE_EPOCH": time.stdout.strip()}
    for old in output.glob("dgtrees-*"):
        old.unlink()
    run(tools, "-m", "build", "--outdir", str(output), str(ROOT), environment=environment)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.glob("dgtrees-*"))
    }


def check_wheel(wheel: Path) -> None:
    """Only the package, with its types and tables; a README without dead links; one version."""
    with zipfile.ZipFile(wheel) as bundle:
        names = set(bundle.namelist())
        (path,) = (name for name in names if name.endswith("/METADATA"))
        metadata = bundle.read(path).decode()
    strangers = [n for n in names if not n.startswith("dgtrees/") and ".dist-info/" not in n]
    strangers += [n for n in names if "test" in n.split("/")[1] or n.endswith((".pyc", ".nbi"))]
    if strangers:
        raise CheckError(f"the wheel has files that do not belong there: {strangers[:3]}")
    sources = (ROOT / "src").rglob("*")
    wanted = {
        str(path.relative_to(ROOT / "src"))
        for path in sources
        if path.suffix in (".py", ".toml") or path.name == "py.typed"
    }
    if not wanted <= names:
        raise CheckError(f"the wheel lacks {sorted(wanted - names)[:3]}")
    dead = re.findall(r"\]\((?!https?:|#)[^)]+\)", metadata)
    if dead:
        raise CheckError(f"README has links that are dead on PyPI: {dead[:3]}")
    version = re.search(r"^Version: (.+)$", metadata, re.MULTILINE)[1]
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text():
        raise CheckError(f"CITATION.cff has no line 'version: {version}'")
    if f"\n## {version} - " not in (ROOT / "CHANGELOG.md").read_text():
        raise CheckError(f"CHANGELOG.md has no heading '## {version} - DATE'")
    if not tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls"):
        print("note: [project.urls] of pyproject.toml is empty: README has no links on PyPI")


def check_sdist(sdist: Path) -> None:
    """Enough to build from, and nothing that only a checkout needs."""
    with tarfile.open(sdist) as bundle:
        tops = {name.split("/")[1] for name in bundle.getnames()}
    wanted = {"src", "release", "README.md", "LICENSE", "pyproject.toml", "PKG-INFO"}
    allowed = wanted | {"CHANGELOG.md", "CITATION.cff", ".gitignore"}
    if not wanted <= tops <= allowed:
        raise CheckError(f"the sdist must have {sorted(wanted)}, has {sorted(tops)}")


def check_installed(python: str, wheel: Path, extras: list[str]) -> None:
    """Install and try the wheel, without extras and with each."""
    version = subprocess.run([python, "--version"], check=True, capture_output=True, text=True)
    print(version.stdout.strip(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        alone = make_environment(python, Path(folder) / "alone", str(wheel))
        run(alone, "-m", "pip", "check")
        run(alone, "-c", ALONE, folder=folder)
        print(f"  without extras: works; {measure(alone)}", flush=True)
        for extra in extras:
            if extra != "bench":
                check_refusal(alone, extra, folder)
    for extra in extras:
        with tempfile.TemporaryDirectory() as folder:
            place = make_environment(python, Path(folder) / extra, f"{wheel}[{extra}]")
            run(place, "-m", "pip", "check")
            run(place, "-c", EXTRAS[extra], folder=folder)
            print(f"  [{extra}]: works; {measure(place)}", flush=True)


def check_refusal(alone: Path, extra: str, folder: str) -> None:
    """Without the extra, the error must name it."""
    done = subprocess.run(
        [alone, "-c", EXTRAS[extra]], cwd=folder, env=clean({}), capture_output=True, text=True
    )
    if done.returncode == 0 or f"dgtrees[{extra}]" not in done.stderr:
        raise CheckError(f"without [{extra}] the error must name it, got: {done.stderr[-500:]}")


def measure(python: Path) -> str:
    """What the environment holds, but for pip."""
    sizes: dict[bool, int] = {True: 0, False: 0}
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    for path in packages.rglob("*"):
        part = path.relative_to(packages).parts
        if path.is_file() and not part[0].startswith("pip") and "__pycache__" not in part:
            sizes[part[0] == "dgtrees"] += path.stat().st_size
    return f"{sizes[True] / 1e6:.1f} MB, and {sizes[False] / 1e6:.0f} MB of other packages"


def make_environment(python: str, folder: Path, *packages: str) -> Path:
    """A new environment with packages at the versions of constraints.txt; its interpreter."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    made = folder / "bin" / "python"
    run(made, "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), *packages)
    return made


def run(
    python: Path,
    *arguments: str,
    folder: str | None = None,
    environment: dict[str, str] | None = None,
) -> None:
    """Run an interpreter; what it says is shown only if it fails."""
    done = subprocess.run(
        [python, *arguments],
        cwd=folder,
        env=clean(environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise CheckError(f"{' '.join(arguments)[:60]!r} failed:\n{done.stdout[-3000:]}")


def clean(extra: dict[str, str]) -> dict[str, str]:
    """This process's environment without what would let a checkout in."""
    unwanted = ("PYTHONPATH", "VIRTUAL_ENV", "DGTREES_DATA")
    return {k: v for k, v in os.environ.items() if k not in unwanted} | extra


if __name__ == "__main__":
    main()
