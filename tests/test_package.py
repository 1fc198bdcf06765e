"""What `pip install .` gives: the command, and the pipelines by name."""

import subprocess
import sys
import zipfile
from pathlib import Path

from mrprep.config import load_pipeline, pipelines_folder

ROOT = Path(__file__).resolve().parent.parent


def test_the_wheel_carries_the_pipelines_the_types_and_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        points = next(name for name in names if name.endswith("entry_points.txt"))
        metadata = next(name for name in names if name.endswith("METADATA"))
        assert "mrprep = mrprep.cli.app:main" in wheel.read(points).decode()
        needs = wheel.read(metadata).decode()
    assert {f"mrprep/pipelines/{path.name}" for path in (ROOT / "pipelines").glob("*.toml")} <= names
    assert "mrprep/py.typed" in names
    assert "Requires-Dist: numpy<2" in needs
    assert "Requires-Dist: pyarrow<26" in needs


def test_every_shipped_pipeline_loads_by_its_name() -> None:
    names = sorted(path.stem for path in pipelines_folder().glob("*.toml"))
    assert names == ["books", "default", "en-web", "raw", "zh-web"]
    stages = {name: load_pipeline(name, {}).stages for name in names}
    assert "dedupe" not in stages["raw"]
    assert "filter" not in stages["raw"]
