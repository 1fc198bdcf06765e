"""`mrprep doctor`: readings of a machine, and the causes of failures named from what MindSpore really says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from builds import mrprep

from mrprep.doctor import ascend, packages
from mrprep.doctor.log import diagnose
from mrprep.doctor.reading import judge
from mrprep.engine import memory

PROVOKED = {
    "missing index": "write('a'); os.remove('a.mindrecord.db'); read('a')",
    "renamed shard": "write('b'); [os.rename('b.mindrecord' + e, 'c.mindrecord' + e) for e in ('', '.db')]; read('c')",
    "page too small": "write('d', page=1 << 15, size=300_000)",
    "stale output": "write('e'); write('e', overwrite=False)",
    "rows dropped for their type": "write('f', dtype=np.int64)",
    "shards that do not fit together": "write('g'); write('h', page=1 << 21); read('g', 'h')",
    "damaged shard": "write('i', rows=5000); os.truncate('i.mindrecord', 200_000); read('i')",
    "shard not found": "read('nowhere')",
    "column not found": "write('j'); read('j', columns_list=['labels'])",
    "no kernel on this device": "ms.ops.matmul(*[ms.Tensor(np.ones((2, 2)), ms.bfloat16)] * 2).asnumpy()",
    "weights of another shape": "ms.load_param_into_net(ms.nn.Dense(4, 4), "
    "{'weight': ms.Parameter(ms.Tensor(np.ones((4, 5), np.float32)), name='weight')})",
    "weights not loaded": "ms.load_param_into_net(ms.nn.Dense(4, 4), "
    "{'w': ms.Parameter(ms.Tensor(np.ones((4, 4), np.float32)), name='w')}); raise RuntimeError('stop')",
    "damaged checkpoint": "open('x.ckpt', 'wb').write(b'rubbish' * 99); ms.load_checkpoint('x.ckpt')",
    "id outside the vocabulary": "print(ms.ops.gather(ms.Tensor(np.ones((4, 2))), ms.Tensor([9], ms.int32), 0))",
}
"""Failure -> how to make MindSpore fail that way."""
PRELUDE = """
import os, traceback
import numpy as np
import mindspore as ms
from mindspore.dataset import MindDataset
from mindspore.mindrecord import FileWriter

def write(name, rows=10, page=1 << 20, size=100, dtype=np.int32, overwrite=True):
    writer = FileWriter(name + ".mindrecord", 1, overwrite=overwrite)
    writer.set_header_size(1 << 16); writer.set_page_size(page)
    writer.add_schema({"input_ids": {"type": "int32", "shape": [-1]}}, "rows")
    writer.write_raw_data([{"input_ids": np.ones(size, dtype)} for _ in range(rows)]); writer.commit()

def read(*names, **options):
    rows = MindDataset([name + ".mindrecord" for name in names], shuffle=False, **options)
    for _ in rows.create_dict_iterator(num_epochs=1): pass
"""


@pytest.fixture(scope="module")
def provoked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What MindSpore printed for each failure, all from one process."""
    lines = [PRELUDE]
    for name, code in PROVOKED.items():
        lines += [
            f"os.write(2, b'=== {name}\\n')",
            "try:",
            f"    {code}",
            "except Exception:",
            "    traceback.print_exc()",
        ]
    folder = tmp_path_factory.mktemp("provoked")
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], cwd=folder, capture_output=True, text=True, check=False
    )
    parts = re.split(r"^=== (.*)\n", ran.stderr, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.mindspore
@pytest.mark.parametrize("name", PROVOKED)
def test_what_mindspore_says_is_understood(name: str, provoked: dict[str, str]) -> None:
    assert [one.name for one in diagnose(provoked[name].splitlines())] == [name]


WORDS = [
    ("A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.2.1 as it may crash.", "numpy 2"),
    ("ImportError: PyArrow requires NumPy 2.0 or newer, found 1.26.4", "pyarrow wants numpy 2"),
    ("ModuleNotFoundError: No module named 'hyper_parallel'", "hyper-parallel missing"),
    ("2.Configured scheduler port MS_SCHED_PORT is occupied by other processes.", "ranks did not meet"),
    ("Node 3 is timed out. It may exit with exception, please check this node's log.", "rank timed out"),
    ("ValueError: 'llama' is already used by a transformers config, pick another name.", "model type exists"),
    ("{Epoch:[  1/  2], step:[  310/ 5000], loss: nan, per_step_time: 1201ms", "loss not finite"),
    ("step 2 loss nan", "loss not finite"),
    ("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", "out of memory"),
    ("MemoryError", "out of memory"),
    ("RuntimeError: Unexpected error. count total rows failed: [FAILED] Open meta file failed", "missing index"),
    ("[ERROR] DB file can not match file, file: train-00000.mindrecord, db file: old.mindrecord.db", "renamed shard"),
    ("mindspore.mindrecord.common.exceptions.MRMOpenError: [MRMOpenError]: MindRecord could not open.", "stale output"),
    ("RuntimeError: Page size too small, page size: 32768, row size: 1200000", "page too small"),
    ("[ERROR] the 3th data is wrong, data type: int64 is not matched with int32", "rows dropped for their type"),
    ("RuntimeError: Exceed function call depth limit 1000, (function call depth: 1001, ...)", "graph too deep"),
    (
        "TypeError: The parameters number of the function is 2, but the number of provided arguments is 3.",
        "cell method without self",
    ),
    (
        "Failed to initialize collective communication some processes in the cluster are not successfully spawned",
        "ranks did not meet",
    ),
    ("Failed to connect to the meta server. Maybe it has exited. Please check scheduler's log.", "ranks did not meet"),
    ("EI0006: Getting socket times out. Reason: Remote Rank did not send the data in time.", "rank timed out"),
    ("EI0002: The wait execution of the Notify register times out. Reason: ...", "rank timed out"),
    ("EI0004: The ranktable or rank is invalid, Reason: [device_ip is not set].", "rank table"),
    (
        "Launching distributed job using dynamic cluster or OpenMPI, but the deive id is not imported when set env "
        "'RANK_TABLE_FILE'.",
        "rank table",
    ),
    ("ImportError: libascendcl.so: cannot open shared object file: No such file or directory", "CANN not found"),
    ("OSError: libhccl_plugin.so: cannot open shared object file: No such file or directory", "CANN not found"),
    (
        "[WARNING] PIPELINE: Use the compilation cache and execute the backend actions only. Be aware of correctness "
        "risks.",
        "compile cache",
    ),
    (
        "size mismatch for model.embed_tokens.weight: copying a param with shape (32000, 64) from checkpoint, ...",
        "weights of another shape",
    ),
    (
        "RuntimeError: For load_param_into_net, model.embed.weight in the argument net should have the same shape as "
        "model.embed.weight in the argument 'parameter_dict'. But got its shape (50000, 64)",
        "weights of another shape",
    ),
    (
        "[WARNING] For 'load_param_into_net', 3 parameters in the 'net' are not loaded, because they are not in the "
        "'parameter_dict'",
        "weights not loaded",
    ),
    ("EL0004: Failed to allocate memory. Possible Cause: Available memory is insufficient.", "out of memory"),
    ("msrun: worker 2 (pid 4242) exit with code: -9", "out of memory"),
    (
        "[WARNING] PRE_ACT: Memory not enough: Device(id:0) memory isn't enough and alloc failed, alloc size: 1 B",
        "out of memory",
    ),
    (
        "2026-11-30 INFO - { Epoch:[ 1/ 1], step:[ 12/ 100], loss: [nan], overflow cond: True, loss_scale: 1.0",
        "loss not finite",
    ),
    ("OSError: [Errno 28] No space left on device", "disk full"),
]


@pytest.mark.parametrize(("text", "name"), WORDS)
def test_other_words_are_understood(text: str, name: str) -> None:
    (found,) = diagnose(["all well so far", *text.splitlines()])
    assert (found.name, found.line) == (name, 2)
    assert found.advice


STEPS = [f"step: {step}, loss: 7.{step}, memory 3.1 GB" for step in range(1, 40)]
OUT = "RuntimeError: Memory not enough: Device(id:0) memory isn't enough and alloc failed, kernel name: "
PHASES = [
    ([OUT + "Default/AdamWeightDecay-op12"], "before the first steps", "--zero 1"),
    ([OUT + "Default/gradMatMul-op7"], "backward pass", "--recompute"),
    ([STEPS[0], OUT + "Gradients/Default/network/MatMul-op88"], "backward pass", "--recompute"),
    ([STEPS[0], OUT + "Default/AllReduce-op3, HCCL buffer"], "exchange between devices", "--micro-batch"),
    ([*STEPS, "dmesg: oom-kill: task=python", "Killed"], "after 39 good steps", "dataset iterator"),
]


@pytest.mark.parametrize(("lines", "cause", "advice"), PHASES)
def test_memory_is_told_by_when_it_ran_out(lines: list[str], cause: str, advice: str) -> None:
    (found,) = diagnose(lines)
    assert cause in found.cause
    assert advice in found.advice


def test_the_first_failure_comes_first_and_a_healthy_log_has_none() -> None:
    log = [*STEPS, "step 40, loss: nan", "step 41, loss: nan", "[Errno 28] No space left on device"]
    found = diagnose(log)
    assert [(one.name, one.line, one.count) for one in found] == [("loss not finite", 40, 2), ("disk full", 42, 1)]
    assert diagnose([*STEPS, "loss 2.31, lr 0.001, 8,000 tok/s", "saved step-40", "Killed two birds", "infinite"]) == []
    assert diagnose(["INFO data: MemoryError guide skipped: 0; note: out of memory handling enabled"]) == []


def test_a_log_is_read_from_a_file_and_from_stdin(tmp_path: Path) -> None:
    log = tmp_path / "rank-0.log"
    log.write_bytes(b"fine\n\xff\x1b[31m [Errno 28] No space left on device\n")
    told = mrprep("doctor", log)
    shown = told.stdout
    assert told.returncode == 1
    assert f"{log}:2: disk full" in shown
    assert "\x1b" not in shown
    (found,) = json.loads(mrprep("doctor", log, "--json").stdout)
    assert found["name"] == "disk full"
    ran = subprocess.run(
        [sys.executable, "-m", "mrprep", "doctor", "-"],
        input="all is well\n",
        text=True,
        capture_output=True,
        check=True,
    )
    assert ran.stdout == "stdin: no failure that mrprep knows; if the run failed, its first line with ERROR says why\n"
    log.write_text("")
    assert mrprep("doctor", log, "--json").stdout == "[]\n"


def test_a_log_that_is_not_there_is_a_users_mistake(tmp_path: Path) -> None:
    for wrong in (tmp_path / "no.log", tmp_path):
        ran = mrprep("doctor", wrong)
        assert ran.returncode == 1
        assert f"{wrong} is not a file" in ran.stderr
        assert "Traceback" not in ran.stderr


def test_this_machine_passes_and_every_requirement_is_read() -> None:
    readings = json.loads(mrprep("doctor", "--json").stdout)
    assert not [one for one in readings if one["state"] == "wrong"]
    names = {one["name"] for one in readings}
    assert {"Python", "mindspore", "numpy", "pyarrow", "memory", "free disk", "open files", "network"} <= names


def test_a_package_of_the_wrong_version_is_named_with_the_command_that_mends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed = {"numpy": "2.1.0", "mindspore": "2.10.0", "mindformers": "2.1.0"}
    monkeypatch.setattr(packages, "version", installed.get)
    wrong = {one.name: one for one in packages.readings() if one.state != "ok"}
    assert wrong["numpy"].mend == "pip install 'numpy<2,>=1.26'"
    assert wrong["pyarrow"].found == "not installed"
    assert wrong["mindformers"].mend == "pip install 'mindformers==2.0.*'"
    assert "mindspore" not in wrong


def test_memory_is_that_of_the_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (str(limit),))
    whole = memory.usable_memory()
    limit.write_text("max\n")
    assert memory.usable_memory() == whole
    limit.write_text("1000000000\n")
    assert memory.usable_memory() == 1_000_000_000


def test_ascend_is_read_from_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    assert [one.found for one in ascend.readings(tmp_path)] == ["no device"]
    (tmp_path / "dev").mkdir()
    for number in range(8):
        (tmp_path / f"dev/davinci{number}").touch()
    (tmp_path / "dev/davinci_manager").touch()
    driver = tmp_path / "usr/local/Ascend/driver/version.info"
    cann = tmp_path / "usr/local/Ascend/ascend-toolkit/latest/compiler/version.info"
    for file, text in ((driver, "Version=25.0.rc1\n"), (cann, "Version=8.1.RC1\n")):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    found = {one.name: (one.found, one.state) for one in ascend.readings(tmp_path)}
    assert found["Ascend"] == ("8 devices", "ok")
    assert found["driver"] == ("25.0", "ok")
    assert found["CANN"] == ("8.1", "wrong")
    cann.write_text("Version=8.5.0\n")
    assert {one.name: one.state for one in ascend.readings(tmp_path)}["CANN"] == "ok"


@pytest.mark.mindspore
def test_two_ranks_add_up() -> None:
    ranks = json.loads(mrprep("doctor", "--full", "--json").stdout)[-1]
    assert (ranks["name"], ranks["state"]) == ("ranks", "ok")


def test_what_is_good_needs_no_mending() -> None:
    assert judge("a", "1", "2", True, "do this").mend == ""
    assert judge("a", "1", "2", False, "do this").state == "wrong"


def test_a_rank_that_was_quicker_than_the_scheduler_is_no_failure():
    """Each rank of a healthy run on a busy machine writes these, twice a second, until the scheduler listens."""
    where = "[WARNING] DISTRIBUTED(19194,7f83a84a2b80,python):2026-11-30-22:20:47.632.568 [compute_graph_node.cc:193]"
    log = [
        f"{where} Register] Failed to connect to the meta server node url: 127.0.0.1:42197",
        f"{where} ReconnectWithTimeoutWindow] Failed to register and try to reconnect to the meta server.",
    ]
    assert diagnose(log) == []
