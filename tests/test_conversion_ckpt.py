"""MindSpore's ``.ckpt``, written and read by MindSpore itself, and by mindformers where it is installed."""

import json
import sys

import conversion_models as models
import numpy as np
import pytest
from safetensors.numpy import load_file

from mrprep.conversion.check import LOGITS
from mrprep.conversion.exporting import export_weights
from mrprep.conversion.importing import import_weights
from mrprep.errors import MrprepError
from mrprep.training import ckpt
from mrprep.training.tensors import Stored, open_tensors, write_tensors

pytestmark = pytest.mark.mindspore


def _saved(folder, arrays):
    """Write a ``.ckpt`` with MindSpore, and a ``config.json`` beside it."""
    import mindspore as ms

    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(models.config_json()))
    held = [{"name": name, "data": ms.Tensor(np.ascontiguousarray(array))} for name, array in arrays.items()]
    ms.save_checkpoint(held, str(folder / "llama.ckpt"))
    return folder / "llama.ckpt"


def _same(folder, arrays):
    found = load_file(folder / "model.safetensors")
    assert set(found) == set(arrays)
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


@pytest.fixture
def here(monkeypatch):
    """Let MindSpore work in this process, where it is loaded once."""

    def run(function, source, target, fault):
        getattr(ckpt, function)(str(source), str(target))

    monkeypatch.setattr(ckpt, "_run", run)


@pytest.mark.usefixtures("here")
def test_names_of_mindformers_come_in_two_orders_so_one_is_asked_for(tmp_path):
    arrays, _ = models.llama(tmp_path / "llama")
    halves = _saved(tmp_path / "halves", models.mindformers(arrays))
    with pytest.raises(MrprepError, match=r"names of mindformers, .* in two orders: say --rotary half"):
        import_weights(halves, tmp_path / "ours")
    import_weights(halves, tmp_path / "ours", rotary="half")
    _same(tmp_path / "ours", arrays)
    meta = models.meta(arrays)
    pairs = models.mindformers(arrays)
    for name in pairs:
        if ".wq." in name or ".wk." in name:
            pairs[name] = meta[name.removeprefix("model.")]
    place = _saved(tmp_path / "pairs", pairs).parent
    import_weights(place, tmp_path / "other", rotary="interleaved")
    _same(tmp_path / "other", arrays)


@pytest.mark.usefixtures("here")
def test_out_as_ckpt_and_in_again(tmp_path):
    import mindspore as ms

    arrays, _ = models.llama(tmp_path / "llama", attention_bias=True)
    done = export_weights(tmp_path / "llama", tmp_path / "mf", ckpt_names="mindformers")
    assert done.check.by.startswith("a forward pass in NumPy") and done.check.largest < 1e-5
    held = ms.load_checkpoint(str(tmp_path / "mf/model.ckpt"))
    wanted = models.mindformers(arrays)
    assert held.keys() == wanted.keys()
    assert all(np.array_equal(held[name].asnumpy(), wanted[name]) for name in wanted)
    assert sorted(path.name for path in (tmp_path / "mf").iterdir()) == [
        "config.json", "export.json", "model.ckpt", LOGITS,
    ]  # fmt: skip
    import_weights(tmp_path / "mf", tmp_path / "ours")  # export.json tells the order
    _same(tmp_path / "ours", arrays)


def test_every_kind_of_number_and_what_is_no_ckpt(tmp_path):
    """Read in a child once, and once so that it fails."""
    bits = np.array([[0x3FC0, 0xC000]], np.uint16)  # 1.5, -2
    tensors = {
        "bf16": Stored("BF16", bits),
        "fp16": Stored("F16", np.array([0.25], np.float16)),
        "fp32": Stored("F32", np.array([[1e-8, 3.0]], np.float32)),
    }
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    write_tensors(tmp_path / "in", tensors.items(), 1 << 20)
    ckpt._pack(str(tmp_path / "in"), str(tmp_path / "a.ckpt"))
    ckpt.unpack(tmp_path / "a.ckpt", tmp_path / "out")
    found = open_tensors(tmp_path / "out")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].kind == tensor.kind and np.array_equal(found[name].raw, tensor.raw), name
    (tmp_path / "b.ckpt").write_bytes(b"garbage" * 99)
    with pytest.raises(MrprepError, match=r"b\.ckpt cannot be read as a MindSpore \.ckpt \(.*\)$") as caught:
        ckpt.unpack(tmp_path / "b.ckpt", tmp_path / "more")
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("here")
def test_mindformers_takes_the_ckpt_and_says_the_same(tmp_path, monkeypatch):
    """Names, shapes and logits of its LlamaForCausalLM on CPU, which lacks two kernels: they are replaced."""
    layer = pytest.importorskip("mindformers.models.llama.llama_layer")
    import mindspore as ms
    from mindformers.models.llama import LlamaConfig, LlamaForCausalLM

    _, config = models.llama(tmp_path / "llama")
    export_weights(tmp_path / "llama", tmp_path / "mf", ckpt_names="mindformers")
    kinds = dict.fromkeys(
        ("compute_dtype", "layernorm_compute_type", "softmax_compute_type", "rotary_dtype", "param_init_type",
         "embedding_init_type"), "float32",
    )  # fmt: skip
    begin = layer.LlamaRMSNorm.__init__
    monkeypatch.setattr(
        layer.LlamaRMSNorm,
        "__init__",
        lambda self, dim, eps=1e-6, compute_type=ms.float32, fused_kernel=True: begin(
            self, dim, eps, compute_type, False
        ),
    )
    model = LlamaForCausalLM(
        LlamaConfig(
            batch_size=1, seq_length=48, vocab_size=61, hidden_size=32, intermediate_size=48, num_layers=2, num_heads=4,
            n_kv_heads=2, max_position_embedding=64, rms_norm_eps=1e-5, use_flash_attention=False, pad_token_id=61,
            **kinds,
        )
    )  # fmt: skip
    for _, cell in model.cells_and_names():
        if hasattr(cell, "bmm_swap"):
            cell.__dict__["bmm_swap"] = ms.ops.matmul
    held = ms.load_checkpoint(str(tmp_path / "mf/model.ckpt"))
    assert held.keys() == {parameter.name for parameter in model.get_parameters()}
    assert ms.load_param_into_net(model, held) == ([], [])
    model.set_train(False)
    with np.load(tmp_path / "mf" / LOGITS) as kept:
        found = model(ms.Tensor(kept["ids"][None].astype(np.int32)))
        logits = (found[0] if isinstance(found, tuple) else found).asnumpy().reshape(-1, config.vocab_size)
        assert np.abs(logits[-8:] - kept["logits"]).max() < 1e-4


def test_a_ckpt_does_not_load_mindspore_here(tmp_path, monkeypatch):
    """The child does: this process only starts it."""
    commands = []
    monkeypatch.setattr("subprocess.run", lambda command, **_: commands.append(command) or _Done())
    with pytest.raises(MrprepError, match=r"cannot be read as a MindSpore .ckpt \(exit status -11\)"):
        ckpt.unpack(tmp_path / "a.ckpt", tmp_path)
    assert commands[0][0] == sys.executable


class _Done:
    returncode, stderr = -11, ""
