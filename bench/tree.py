"""The SHA-256 of everything in a build but run.json, and builds as a user starts them."""

import hashlib
import subprocess
import sys
from pathlib import Path

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


def command(*arguments: object) -> list[str]:
    """Return the command line of mrprep with these arguments."""
    return [sys.executable, "-m", "mrprep", *map(str, arguments)]


def run(*arguments: object) -> str:
    """Run mrprep to its end and return what it prints; raise when it fails."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command(*arguments))}\n{done.stderr}")
    return done.stdout


def tree_hash(build: Path) -> str:
    """Return one SHA-256 over names and contents of all files but run.json."""
    total = hashlib.sha256()
    for path in sorted(build.rglob("*")):
        if path.is_file() and path.name != "run.json":
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{path.relative_to(build)} {content}\n".encode())
    return total.hexdigest()
