"""Weights that a run begins with: files as Hugging Face writes them, and what does not fit. No launch."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from mrprep.errors import MrprepError
from mrprep.training.initial import begin
from mrprep.training.presets import preset
from mrprep.training.shards import TrainingShards
from mrprep.training.tensors import SINGLE, open_tensors

CONFIG = preset("tiny", 50, 32)


def _like(vocab_size, seq):
    return TrainingShards(
        build=Path("b"), split="train", files=(), rows=9, seq=seq, layout="flat", vocab_size=vocab_size,
        tokenizer_sha256="aa", bos_id=1, eod_id=2, pad_id=None, manifest_sha256="ab", bytes_per_token=None,
    )  # fmt: skip


def _folder(path, config=CONFIG):
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config.to_hf(1, 2, None)))
    save_file({name: np.zeros(shape, np.float16) for name, shape in config.shapes().items()}, path / SINGLE)
    return path


def test_several_files_of_several_kinds_of_numbers(tmp_path):
    """fp16 and bf16 hold these values exactly; bf16 is written bit by bit: sign, 8 of exponent, 7 of mantissa."""
    save_file({"a": np.array([[1.5, -2.0]], np.float32), "b": np.array([0.25], np.float16)}, tmp_path / "1.safetensors")
    bits = np.array([0x3FC0, 0xC000, 0x0000], np.uint16)  # 1.5, -2, 0
    header = b'{"c":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}'
    (tmp_path / "2.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bits.tobytes())
    places = {"a": "1.safetensors", "b": "1.safetensors", "c": "2.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    found = {name: tensor.wide() for name, tensor in open_tensors(tmp_path).items()}
    assert {name: array.tolist() for name, array in found.items()} == {"a": [[1.5, -2]], "b": [0.25], "c": [1.5, -2, 0]}
    assert {array.dtype for array in found.values()} == {np.dtype(np.float32)}
    (tmp_path / "2.safetensors").write_bytes(b"half")
    with pytest.raises(MrprepError, match=r"2\.safetensors cannot be read"):
        open_tensors(tmp_path)
    (tmp_path / "2.safetensors").unlink()
    with pytest.raises(MrprepError, match=r"2\.safetensors cannot be read"):
        open_tensors(tmp_path)
    index.write_text(json.dumps({"weight_map": {"a": "../1.safetensors"}}))
    with pytest.raises(MrprepError, match="no file beside it"):
        open_tensors(tmp_path)


def test_the_shape_is_that_of_the_weights(tmp_path):
    folder = _folder(tmp_path / "hf")
    assert begin(folder, None, _like(50, 32)) == (folder, CONFIG)
    assert begin(folder, "tiny", _like(50, 32), 16) == (folder, CONFIG)


@pytest.mark.parametrize(
    ("model", "vocab_size", "seq", "says"),
    [
        (None, 64, 32, r"hf has a vocabulary of 50, the tokenizer of b one of 64: .*mrprep vocab align --from"),
        (None, 50, 33, r"config.json has max_position_embeddings 32, the build rows of 33 tokens"),
        ("10m", 50, 32, r"hf has hidden_size 128, --model 10m 256"),
    ],
)
def test_what_does_not_fit_is_refused_with_both_sizes(tmp_path, model, vocab_size, seq, says):
    with pytest.raises(MrprepError, match=says):
        begin(_folder(tmp_path / "hf"), model, _like(vocab_size, seq))


def test_no_weights_is_a_sentence(tmp_path):
    with pytest.raises(MrprepError, match=r"is no run with a sound checkpoint, and holds no model\.safetensors"):
        begin(tmp_path, None, _like(50, 32))


def test_damage_is_found_before_any_rank_starts_with_what_to_do(tmp_path):
    folder = _folder(tmp_path / "hf")
    whole = (folder / SINGLE).read_bytes()
    (folder / SINGLE).write_bytes(whole[:-1])
    with pytest.raises(MrprepError, match=r"model\.safetensors cannot be read .*: copy it again"):
        begin(folder, None, _like(50, 32))
    part = {n: np.zeros(s, np.float32) for n, s in CONFIG.shapes().items() if n != "model.norm.weight"}
    save_file(part, folder / SINGLE)
    with pytest.raises(MrprepError, match=r"has no model\.norm\.weight, which .*; name weights that are whole"):
        begin(folder, None, _like(50, 32))
    (folder / "config.json").write_text("{")
    with pytest.raises(MrprepError, match=r"config\.json cannot be read .*: mend it, or copy it again"):
        begin(folder, None, _like(50, 32))


def test_an_output_layer_in_other_numbers_that_is_the_embedding_is_passed_over(tmp_path):
    """Tied weights: fp16 and fp32 of the same values are one; another value is an error."""
    folder = _folder(tmp_path / "hf")
    arrays = {name: np.full(shape, 0.5, np.float16) for name, shape in CONFIG.shapes().items()}
    head = np.full((50, 128), 0.5, np.float32)
    save_file({**arrays, "lm_head.weight": head}, folder / SINGLE)
    assert begin(folder, None, _like(50, 32))[0] == folder
    head[3, 4] = 0.25
    save_file({**arrays, "lm_head.weight": head}, folder / SINGLE)
    with pytest.raises(MrprepError, match="tie_word_embeddings"):
        begin(folder, None, _like(50, 32))


@pytest.mark.mindspore
def test_weights_of_another_shape_or_missing_are_named(tmp_path):
    import mindspore as ms

    from mrprep.training.model import Llama
    from mrprep.training.resume import put

    ms.set_device("CPU")
    model = Llama(CONFIG, 32, 0)
    weights = {p.name: p.asnumpy() + 1 for p in model.trainable_params()}
    put(weights, model, tmp_path)
    assert all((p.asnumpy() == weights[p.name]).all() for p in model.trainable_params())
    name = "model.layers.1.mlp.up_proj.weight"
    with pytest.raises(MrprepError, match=rf"{name} of shape \[352, 64\], the model \[352, 128\]"):
        put(weights | {name: weights[name][:, :64]}, model, tmp_path)
    with pytest.raises(
        MrprepError,
        match=rf"has no {name}, which its config promises: the nearest name there is model\.layers\.0\.mlp\.up_proj",
    ):
        put({n: w for n, w in weights.items() if n != name}, model, tmp_path)
