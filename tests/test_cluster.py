"""A Ray cluster of several nodes on this machine: the same bytes as in one process, whatever happens to a node."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from builds import COMMAND, build, hashes, mrprep
from test_engine_executor import die, die_once, fail, touch, wait_for

from mrprep.builddir.layout import work_of
from mrprep.engine.cluster import Cluster, Terms
from mrprep.engine.node import PYTHON, versions
from mrprep.errors import MrprepError

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

MIXED = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "mixfolder"
SLICE = ("docs", "news", "poems", "pydoc", "wiki")
OPTIONS = ("--seq", 256, "--vocab-size", 2000, "--shards", 4)
HERE = {"node_ip_address": "127.0.0.2", "object_store_memory": 80 << 20}
"""Ray takes 127.0.0.1 in an address for the address that the machine has outside."""
PATIENCE = 300
"""Seconds; the machine may be busy with other tests."""
ENV = {
    "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parent.parent)]),
    "RAY_gcs_server_port_wait_time_s": str(PATIENCE),
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return some of mixfolder, by links."""
    folder = tmp_path_factory.mktemp("source") / "mix"
    folder.mkdir()
    for name in SLICE:
        (folder / name).symlink_to(MIXED / name)
    return folder


@pytest.fixture(scope="module")
def alone(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("alone") / "out"
    build(source, out, *OPTIONS, "--jobs", 1)
    return out


@pytest.fixture
def nodes(monkeypatch) -> Iterator:
    """Yield a cluster: a head that does no work, and no node yet."""
    from ray._private import services
    from ray.cluster_utils import Cluster as Nodes

    monkeypatch.setattr(services, "get_node", patient(services.get_node))
    with in_environment(ENV):
        head = {**HERE, "num_cpus": 0, "include_dashboard": False}
        cluster = Nodes(initialize_head=True, head_node_args=head)
        yield cluster
        cluster.shutdown()


def patient(asked):
    """Return a question to Ray that is put again as long as it knows no answer; Ray itself gives up after 30 s."""

    def ask(*arguments: object) -> object:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return asked(*arguments)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    return ask


@contextlib.contextmanager
def in_environment(values: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    yield
    os.environ.clear()
    os.environ.update(before)


def under_way(process: subprocess.Popen, condition) -> None:
    """Wait until a build is where it is to be disturbed."""
    wait_for(lambda: process.poll() is not None or condition(), PATIENCE)
    assert process.poll() is None, process.stderr.read()


def on_ray(nodes) -> tuple[object, ...]:
    return ("--executor", "ray", "--address", nodes.address)


def test_two_nodes_give_the_bytes_of_one_process(nodes, source: Path, alone: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        nodes.add_node(**HERE, num_cpus=1, node_name=name)
    done = mrprep("build", source, "--out", tmp_path / "out", *OPTIONS, *on_ray(nodes))
    assert done.returncode == 0, done.stderr
    assert "ray: 2 machines with 2 processors (node a (127.0.0.2), node b (127.0.0.2))" in done.stderr
    assert hashes(tmp_path / "out") == hashes(alone)
    assert not work_of(tmp_path / "out").exists()


RULES = """
from dataclasses import replace

from mrprep import Document, Dropped


def no_numbers(document: Document) -> Document | Dropped:
    if sum(map(str.isdigit, document.text)) * 10 > len(document.text):
        return Dropped(document, "numbers", "over a tenth")
    return replace(document, text=document.text.replace("\t", " "))
"""
STAGES = ("clean", "my_rules:no_numbers", "filter", "dedupe", "tokenize", "pack", "shard")


def test_the_other_commands_give_the_bytes_of_one_process(nodes, source: Path, alone: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        nodes.add_node(**HERE, num_cpus=1, node_name=name)
    (tmp_path / "my_rules.py").write_text(RULES)
    (tmp_path / "own.toml").write_text(f"stages = {list(STAGES)}\n")
    (tmp_path / "more").symlink_to(MIXED / "news_gb18030" / "C000010")
    model = next((alone / "tokenizer").glob("*.model"))
    commands: dict[str, tuple[object, ...]] = {
        "own": ("build", source, "--pipeline", tmp_path / "own.toml", "--allow-code", *OPTIONS),
        "dedupe": ("dedupe", source),
        "import": ("import", "mindrecord", alone / "train", "--tokenizer", model),
        "append": ("build", tmp_path / "more", "--append"),
    }
    for name, command in commands.items():
        outs = [tmp_path / f"{name}-{where}" for where in ("here", "ray")]
        for out, where in zip(outs, (("--jobs", 1), on_ray(nodes)), strict=True):
            if name == "append":
                shutil.copytree(alone, out)
            done = mrprep(*command, *([] if name == "append" else ["--out"]), out, *where)
            assert done.returncode == 0, (name, done.stderr)
        assert hashes(outs[1]) == hashes(outs[0]), name
        assert not work_of(outs[1]).exists()
    manifest = json.loads((tmp_path / "own-ray" / "manifest.json").read_text())
    assert manifest["counts"]["read"]["left_out"]["my_rules:no_numbers"], "the stage ran"
    assert hashes(tmp_path / "append-ray") != hashes(alone)


def test_a_node_that_is_lost_costs_nothing_but_time(nodes, source: Path, alone: Path, tmp_path: Path) -> None:
    lost = [nodes.add_node(**HERE, num_cpus=1, node_name=name) for name in ("a", "b")][1]
    out = tmp_path / "out"
    command = [*COMMAND, "build", source, "--out", out, *OPTIONS, *on_ray(nodes)]
    process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    read = work_of(out) / "phases" / "read"
    under_way(process, lambda: len(list(read.glob("*.parts"))) == 2 and any(read.glob("?????")))
    nodes.remove_node(lost, allow_graceful=False)
    assert list(read.glob("*.parts")), "the node was lost in the middle of the phase"
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert "node b (127.0.0.2) is lost" in said
    assert hashes(out) == hashes(alone)


def test_a_node_with_another_version_is_named(nodes, source: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "pyarrow-1.2.3.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: pyarrow\nVersion: 1.2.3\n")
    nodes.add_node(**HERE, num_cpus=1, node_name="good")
    with in_environment({"PYTHONPATH": os.pathsep.join([str(other.parent), ENV["PYTHONPATH"]])}):
        nodes.add_node(**HERE, num_cpus=1, node_name="odd")
    done = mrprep("build", source, "--out", tmp_path / "out", *OPTIONS, *on_ray(nodes))
    assert done.returncode == 1
    there = versions(["pyarrow"])["pyarrow"]
    assert f"node odd (127.0.0.2) has pyarrow 1.2.3 where this machine has {there}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def ours(mark: str) -> list[psutil.Process]:
    """Return the processes of a Ray that was started with ``mark`` in its environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("MRPREP_TEST") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}


@pytest.mark.parametrize("number", list(CODES))
def test_a_stopped_build_leaves_no_ray(number: signal.Signals, source: Path, alone: Path, tmp_path: Path) -> None:
    out, temporary = tmp_path / "out", tmp_path / "t"
    temporary.mkdir()
    command = [*map(str, (*COMMAND, "build", source, "--out", out, *OPTIONS, "--executor", "ray", "--jobs", 2))]
    environment = {**os.environ, "MRPREP_TEST": str(tmp_path), "TMPDIR": f"/tmp/{os.getpid()}-{number:d}"}
    Path(environment["TMPDIR"]).mkdir()
    process = subprocess.Popen(command, env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True)
    under_way(process, lambda: any((work_of(out) / "phases" / "read").glob("*.parts")))
    mine = ours(str(tmp_path))
    listening = {c.laddr.ip for each in mine for c in each.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}, "loopback alone"
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == CODES[number], said
    wait_for(lambda: not ours(str(tmp_path)), PATIENCE)
    if number != signal.SIGKILL:
        assert said.endswith("stopped; the same command goes on from here\n")
        assert "Traceback" not in said and "SIGTERM received" not in said
        assert not list(Path(environment["TMPDIR"]).iterdir())
    build(source, out, *OPTIONS)
    assert hashes(out) == hashes(alone)


def at_work() -> list[psutil.Process]:
    """Return the workers of the nodes of this process that are at a call."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::call_here"):
                found.append(process)
    return found


def test_a_stopped_build_leaves_a_cluster_idle(nodes, source: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        nodes.add_node(**HERE, num_cpus=1, node_name=name)
    command = [*COMMAND, "build", source, "--out", tmp_path / "out", *OPTIONS, *on_ray(nodes)]
    process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    under_way(process, lambda: any((work_of(tmp_path / "out") / "phases" / "read").glob("*.parts")) and at_work())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    assert said.endswith("stopped; the same command goes on from here\n")
    wait_for(lambda: not at_work(), 60)


def test_a_machine_that_does_not_see_the_files_is_refused(tmp_path: Path) -> None:
    cluster = Cluster(Terms(None, 1, {}, {str(tmp_path / "gone"): 3}), print)
    with pytest.raises(MrprepError, match=r"does not see .*gone"):
        list(cluster.run([(touch, (tmp_path / "a",))], ["unit 0"]))
    cluster.close()
    assert not (tmp_path / "a").exists()


@pytest.fixture(scope="module")
def small() -> Iterator[Cluster]:
    with in_environment(ENV):
        cluster = Cluster(Terms(None, 2, versions([PYTHON, "mrprep"]), {}), print)
        yield cluster
        cluster.close()


def kill_own(name: str) -> None:
    """Kill a process of the Ray that this process has started."""
    (found,) = (child for child in psutil.Process().children() if Path(child.cmdline()[0]).name == name)
    found.kill()
    found.wait()


@pytest.mark.parametrize("name", ["raylet", "gcs_server"])
def test_a_ray_of_our_own_that_breaks_is_started_anew_or_ends_the_build(name: str, tmp_path: Path) -> None:
    said: list[str] = []
    with in_environment(ENV):
        cluster = Cluster(Terms(None, 1, {}, {}), said.append)
        calls = [(touch, (tmp_path / str(i),)) for i in range(4)]
        with contextlib.closing(cluster):
            running = cluster.run(calls, [""] * 4)
            done = [next(running)]
            kill_own(name)
            done += running
            assert sorted({index for index, _ in done}) == [0, 1, 2, 3]
            assert "ray: it broke, and is started anew; what was under way is done again" in said
            cluster._left = 0  # as after one more
            kill_own(name)
            with pytest.raises(MrprepError, match=r"the Ray on this machine broke 3 times .*the same command again"):
                list(cluster.run(calls, [""] * 4))
    assert not [child for child in psutil.Process().children() if Path(child.name()).name == name]


def test_every_call_runs_once(small: Cluster, tmp_path: Path) -> None:
    calls = [(touch, (tmp_path / str(i),)) for i in range(9)]
    assert sorted(small.run(calls, [""] * 9)) == [(i, str(i)) for i in range(9)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(i) for i in range(9)]


def test_a_worker_that_dies_once_costs_nothing(small: Cluster, tmp_path: Path) -> None:
    calls = [(die_once, (tmp_path / "mark", tmp_path / "late")), *((touch, (tmp_path / str(i),)) for i in range(5))]
    assert sorted(index for index, _ in small.run(calls, [f"unit {i}" for i in range(6)])) == list(range(6))
    assert (tmp_path / "late").exists()


def test_errors_and_deadly_units_are_told_as_the_pool_tells_them(small: Cluster, tmp_path: Path) -> None:
    with pytest.raises(MrprepError, match="workers died 3 times on unit 0"):
        list(small.run([(die, (tmp_path,))], ["unit 0"]))
    with pytest.raises(MrprepError, match=r"^this one$"):
        list(small.run([(fail, ("this one",))], ["unit 0"]))
