"""Weights of other programs into ours and back, on tiny models written by hand. No transformers, no MindSpore."""

import json

import conversion_models as models
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from slow_llama import slow_logits

from mrprep import extras
from mrprep.cli.app import run as mrprep
from mrprep.conversion import families
from mrprep.conversion.arrangement import Interleaved, Packed
from mrprep.conversion.check import LOGITS, fixed_ids
from mrprep.conversion.exporting import export_weights
from mrprep.conversion.families import Family, register
from mrprep.conversion.importing import import_weights
from mrprep.conversion.names import HUGGING_FACE, INTERNLM2, META, MINDFORMERS, links
from mrprep.conversion.reference import Reference
from mrprep.errors import MrprepError
from mrprep.training.config import ModelConfig
from mrprep.training.config_json import read_config
from mrprep.training.inference import CachedLlama
from mrprep.training.tensors import Stored, open_tensors
from mrprep.training.weights import read_weights


def _import(place, out, **options):
    return import_weights(place, out, against="numpy", **options)


def _same(folder, arrays):
    found = load_file(folder / "model.safetensors")
    assert set(found) == set(arrays)
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


def test_interleaved_rows_by_hand():
    """Meta: a0 b0 a1 b1 turn (a0, b0) and (a1, b1); halves: a0 a1 b0 b1. Two heads of width 4."""
    theirs = np.array(["a0", "b0", "a1", "b1", "c0", "d0", "c1", "d1"])
    (ours,) = Interleaved(2).split(theirs)
    assert ours.tolist() == ["a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"]
    assert Interleaved(2).join([ours]).tolist() == theirs.tolist()
    assert Interleaved(2).split(theirs[:, None])[0].shape == (8, 1)


def test_packed_rows_by_hand():
    """Two key-value heads, three queries each, width 1."""
    theirs = np.array(["q0", "q1", "q2", "k0", "v0", "q3", "q4", "q5", "k1", "v1"])
    ours = Packed(2, 3).split(theirs)
    assert [part.tolist() for part in ours] == [["q0", "q1", "q2", "q3", "q4", "q5"], ["k0", "k1"], ["v0", "v1"]]
    assert Packed(2, 3).join(ours).tolist() == theirs.tolist()


@pytest.mark.parametrize(
    ("names", "packed", "interleaved"),
    [(HUGGING_FACE, dict, False), (INTERNLM2, models.internlm2, False), (META, models.meta, True),
     (MINDFORMERS, models.mindformers, False)],
    ids=lambda each: getattr(each, "name", ""),
)  # fmt: skip
def test_the_names_and_the_forward_pass_over_them_are_those_of_a_slow_llama(names, packed, interleaved):
    """Names and rows by hand (conversion_models), logits a position and a head at a time (slow_llama)."""
    config = ModelConfig(**models.SHAPE, attention_bias=True)
    arrays = models.weights(config)
    theirs = packed(arrays)
    found = {link.theirs: link.shape for link in links(names, config, interleaved=interleaved)}
    assert found == {name: array.shape for name, array in theirs.items()}
    stored = {name: Stored("F32", array) for name, array in theirs.items()}
    ids = fixed_ids(config)[:12]
    logits = Reference(config, stored, names, interleaved=interleaved).logits(ids, 5)
    assert np.abs(logits - slow_logits(config, arrays, ids)[-5:]).max() < 1e-5


@pytest.mark.parametrize("head_dim", [None, 12])
def test_qwen3_with_heads_of_its_own_width_in_numpy(head_dim):
    config = ModelConfig(**models.SHAPE, model_type="qwen3", **({"head_dim": head_dim} if head_dim else {}))
    arrays = models.weights(config)
    ids = fixed_ids(config)[:12]
    stored = {name: Stored("F32", array) for name, array in arrays.items()}
    logits = Reference(config, stored, HUGGING_FACE, interleaved=False).logits(ids, 5)
    assert np.abs(logits - slow_logits(config, arrays, ids)[-5:]).max() < 1e-5


@pytest.mark.parametrize("bias", [False, True])
def test_internlm2_is_split_and_packed_again_to_the_last_bit(tmp_path, bias):
    arrays, config = models.llama(tmp_path / "llama", attention_bias=bias)
    raw = models.config_json(model_type="internlm2", bias=bias, eos_token_id=2, rope_scaling=None)
    theirs = models.internlm2(arrays)
    models.write(tmp_path / "hf", raw, theirs)
    (tmp_path / "hf/tokenizer.model").write_bytes(b"pieces")
    done = _import(tmp_path / "hf", tmp_path / "ours")
    assert any("wqkv.weight" in line and "{q,k,v}_proj" in line and "(split)" in line for line in done.key_map)
    _same(tmp_path / "ours", arrays)
    assert read_config(tmp_path / "ours/config.json") == config
    assert json.loads((tmp_path / "ours/config.json").read_text())["eos_token_id"] == 2
    export_weights(tmp_path / "ours", tmp_path / "back", against="numpy")
    _same(tmp_path / "back", theirs)
    back = json.loads((tmp_path / "back/config.json").read_text())
    assert {key: back.get(key) for key in raw} == raw | {"rope_scaling": None}
    assert (tmp_path / "back/tokenizer.model").read_bytes() == b"pieces"


@pytest.mark.parametrize("theirs", [models.internlm2, models.meta])
def test_what_was_imported_is_the_same_model(tmp_path, theirs):
    arrays, config = models.llama(tmp_path / "llama")
    kind = {"model_type": "internlm2", "bias": False} if theirs is models.internlm2 else {}
    models.write(tmp_path / "hf", models.config_json(**kind), theirs(arrays))
    done = _import(tmp_path / "hf", tmp_path / "ours")
    assert 0 <= done.check.largest < 1e-5 < done.check.bound
    read = read_weights(tmp_path / "ours")
    ids = fixed_ids(config)[:12]
    assert np.abs(CachedLlama(read.config, read.arrays)(ids) - slow_logits(config, arrays, ids)).max() < 1e-4


def test_the_wrong_order_of_queries_and_keys_is_found_and_nothing_written(tmp_path, monkeypatch):
    """The conversion goes wrong (rows left as they are), the forward pass over the files does not."""
    arrays, _ = models.llama(tmp_path / "llama")
    models.write(tmp_path / "hf", models.config_json(), models.meta(arrays))
    monkeypatch.setattr(Interleaved, "split", lambda self, theirs: (theirs,))
    with pytest.raises(
        MrprepError, match=r"logits on the same ids differ by up to .* is allowed .*nothing was written"
    ):
        _import(tmp_path / "hf", tmp_path / "ours")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hf", "llama"]


def test_bf16_in_several_files_stays_as_it_is(tmp_path):
    """Numbers are copied bit by bit; each file holds at most what is asked, and the index names them all."""
    arrays, config = models.llama(tmp_path / "fp32")
    bits = {name: Stored("BF16", (array.view(np.uint32) >> 16).astype(np.uint16)) for name, array in arrays.items()}
    from mrprep.training.tensors import write_tensors

    (tmp_path / "hf").mkdir()
    (tmp_path / "hf/config.json").write_text((tmp_path / "fp32/config.json").read_text())
    write_tensors(tmp_path / "hf", bits.items(), 1 << 30)
    done = _import(tmp_path / "hf", tmp_path / "ours", shard_bytes=8000)
    files = sorted((tmp_path / "ours").glob("model-*.safetensors"))
    assert len(files) > 3 and files[-1].name == f"model-{len(files):05d}-of-{len(files):05d}.safetensors"
    assert all(sum(open_.raw.nbytes for _, open_ in _opened(file)) <= 8000 for file in files)
    index = json.loads((tmp_path / "ours/model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == done.bytes == 2 * config.parameter_count
    found = open_tensors(tmp_path / "ours")
    assert all(found[name].kind == "BF16" and np.array_equal(found[name].raw, bits[name].raw) for name in bits)


def _opened(file):
    from mrprep.training.tensors import open_file

    return list(open_file(file))


def test_a_run_goes_out_and_comes_back(tmp_path):
    from mrprep.training import checkpoint

    config = ModelConfig(**models.SHAPE, model_type="qwen2", tie_word_embeddings=True)
    arrays = models.weights(config)
    state = checkpoint.LoopState(step=3, rows=1, tokens=1, seed=1, global_batch=1, manifest_sha256="a")
    snapshot = checkpoint.Snapshot(state, arrays, {"step": np.ones(1, np.float32)}, config.to_hf(1, 2, None))
    checkpoint.save(tmp_path / "run/checkpoints", snapshot, keep=1)
    export_weights(tmp_path / "run", tmp_path / "hf", against="numpy")
    _same(tmp_path / "hf", arrays)
    assert import_weights(tmp_path / "hf", tmp_path / "ours", against="stored").check.largest == 0
    _same(tmp_path / "ours", arrays)
    with pytest.raises(
        MrprepError, match="a model of type qwen2 cannot be written as internlm2, which has no place for"
    ):
        export_weights(tmp_path / "run", tmp_path / "intern", model_type="internlm2")
    with pytest.raises(MrprepError, match="a model of type qwen2 cannot be written as llama, which is another"):
        export_weights(tmp_path / "run", tmp_path / "llama", model_type="llama")


def test_logits_that_were_kept_are_those_of_these_weights(tmp_path):
    arrays, _ = models.llama(tmp_path / "hf")
    _import(tmp_path / "hf", tmp_path / "ours")
    with np.load(tmp_path / "ours" / LOGITS) as held:
        assert (held["ids"].shape, held["logits"].shape, held["logits"].dtype) == ((48,), (8, 61), np.float32)
    arrays["model.norm.weight"][3] += 0.5
    save_file(arrays, tmp_path / "ours/model.safetensors")
    with pytest.raises(MrprepError, match=rf"differ by up to .* from those of {LOGITS} beside the weights"):
        export_weights(tmp_path / "ours", tmp_path / "back")
    (tmp_path / "ours" / LOGITS).unlink()
    export_weights(tmp_path / "ours", tmp_path / "back", against="numpy")


CHANGES = {
    "missing": (
        lambda arrays: arrays.pop("model.layers.1.mlp.up_proj.weight"),
        r"has no model\.layers\.1\.mlp\.up_proj\.weight, which its config promises: the nearest name there is "
        r"model\.layers\.[01]\.mlp\.(up|down)_proj\.weight",
    ),
    "misspelt": (
        lambda arrays: arrays.update({"model.layers.0.self_attn.qproj.weight": arrays.pop(_Q)}),
        r"has no model\.layers\.0\.self_attn\.q_proj\.weight, .*: the nearest name there is "
        r"model\.layers\.0\.self_attn\.qproj\.weight",
    ),
    "unexpected": (
        lambda arrays: arrays.update({"model.layers.0.self_attn.q_proj.bias": np.zeros(32, np.float32)}),
        r"has model\.layers\.0\.self_attn\.q_proj\.bias, for which its config has no place: the nearest name it has "
        r"is model\.layers\.0\.self_attn\.[qkvo]_proj\.weight",
    ),
    "shape": (
        lambda arrays: arrays.update({_Q: arrays[_Q][:16]}),
        r"has model\.layers\.0\.self_attn\.q_proj\.weight of shape \[16, 32\], the model \[32, 32\]",
    ),
    "far": (
        lambda arrays: arrays.update({"foo.bar": np.zeros(2, np.float32)}),
        r"has foo\.bar, for which its config has no place: no name it has is near; take that array out",
    ),
    "nothing": (
        lambda arrays: arrays.update({"transformer.wte.weight": arrays.pop("model.embed_tokens.weight")}),
        r"has no model\.embed_tokens\.weight, and no embedding under any name that is known: the nearest name there is",
    ),
}
_Q = "model.layers.0.self_attn.q_proj.weight"


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_as_the_config_says_is_named(tmp_path, change):
    spoil, says = CHANGES[change]
    arrays, _ = models.llama(tmp_path / "hf")
    spoil(arrays)
    save_file(arrays, tmp_path / "hf/model.safetensors")
    with pytest.raises(MrprepError, match=says):
        _import(tmp_path / "hf", tmp_path / "ours")
    if change in ("missing", "unexpected", "shape"):  # and by eval, generate, --init-from too
        with pytest.raises(MrprepError, match=says):
            read_weights(tmp_path / "hf")


def test_nan_in_the_source_is_named(tmp_path):
    arrays, _ = models.llama(tmp_path / "hf")
    arrays["lm_head.weight"][3, 4] = np.nan
    save_file(arrays, tmp_path / "hf/model.safetensors")
    with pytest.raises(MrprepError, match=r"lm_head\.weight holds NaN or infinity in the source"):
        _import(tmp_path / "hf", tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("held", [[], {}, {"weight_map": []}, {"weight_map": {"a": 1}}])
def test_an_index_that_is_none_is_a_sentence(tmp_path, held):
    models.llama(tmp_path / "hf")
    (tmp_path / "hf/model.safetensors").rename(tmp_path / "hf/a.safetensors")
    (tmp_path / "hf/model.safetensors.index.json").write_text(json.dumps(held))
    with pytest.raises(MrprepError, match=r"index\.json has no weight_map of arrays to files: put a sound copy"):
        _import(tmp_path / "hf", tmp_path / "ours")


def test_fp64_stays_as_it_is(tmp_path):
    arrays, _ = models.llama(tmp_path / "hf")
    wide = {name: array.astype(np.float64) + 1e-12 for name, array in arrays.items()}
    save_file(wide, tmp_path / "hf/model.safetensors")
    _import(tmp_path / "hf", tmp_path / "ours")
    _same(tmp_path / "ours", wide)
    assert {array.dtype for array in read_weights(tmp_path / "ours").arrays.values()} == {np.dtype(np.float32)}


def test_what_adds_nothing_is_left_out_and_told(tmp_path):
    """Tables of rotary angles, and the embedding a second time; another output layer is no second time."""
    arrays, _ = models.llama(tmp_path / "hf", tie_word_embeddings=True)
    extra = {
        "lm_head.weight": arrays["model.embed_tokens.weight"],
        "model.layers.0.self_attn.rotary_emb.inv_freq": np.ones(4, np.float32),
    }
    save_file(arrays | extra, tmp_path / "hf/model.safetensors")
    assert _import(tmp_path / "hf", tmp_path / "ours").left_out == sorted(extra)
    _same(tmp_path / "ours", arrays)
    assert read_weights(tmp_path / "hf").arrays.keys() == arrays.keys()
    other = {"lm_head.weight": arrays["model.embed_tokens.weight"] + 1}
    save_file(arrays | other, tmp_path / "hf/model.safetensors")
    for read in (lambda: _import(tmp_path / "hf", tmp_path / "more"), lambda: read_weights(tmp_path / "hf")):
        with pytest.raises(MrprepError, match=r"lm_head\.weight that differs .* says tie_word_embeddings"):
            read()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "mixtral", "num_local_experts": 8}, "num_local_experts 8: a mixture of experts"),
        ({"model_type": "gpt2"}, "model type gpt2 is not known; known: llama, mistral, qwen2, qwen3, internlm2"),
        (
            {"model_type": "mistral", "sliding_window": 16},
            "sliding_window 16 is shorter than max_position_embeddings 64",
        ),
        ({"rope_scaling": {"rope_type": "longrope", "factor": 2}}, "longrope"),
        ({"hidden_act": "gelu"}, "hidden_act gelu is not supported"),
        ({"mlp_bias": True}, "mlp_bias True is not supported"),
        ({"rms_norm_eps": None}, "rms_norm_eps is null, and what it should be is not guessed"),
        ({"hidden_size": "32"}, "hidden_size is '32': input should be a valid integer"),
        ({"rope_parameters": {"rope_type": "foo"}}, r"rope_parameters\.rope_type is 'foo': known are linear, dynamic"),
        ({"rope_scaling": {"type": "foo"}}, r"rope_scaling\.type is 'foo': known are linear"),
        ({"rope_parameters": {"rope_type": "linear", "factor": 0}}, r"rope_parameters\.factor is 0: input should be"),
        ({"rope_parameters": {"rope_theta": "x"}}, r"rope_parameters\.rope_theta is 'x': input should be"),
    ],
)
def test_what_the_model_does_not_have_is_named(tmp_path, changes, says):
    models.llama(tmp_path / "hf")
    (tmp_path / "hf/config.json").write_text(json.dumps(models.config_json(**changes)))
    with pytest.raises(MrprepError, match=says):
        _import(tmp_path / "hf", tmp_path / "ours")


def test_a_family_is_registered_once(tmp_path, monkeypatch):
    monkeypatch.setattr(families, "_KNOWN", dict(families._KNOWN))
    with pytest.raises(
        MrprepError, match=r"model type llama is registered already .* give yours .*Family\('llama-2', "
    ):
        register(Family("llama"))
    register(Family("house", HUGGING_FACE, lambda raw: {**raw, "model_type": "llama"}, dict))
    arrays, _ = models.llama(tmp_path / "hf", model_type="llama")
    (tmp_path / "hf/config.json").write_text(json.dumps(models.config_json(model_type="house")))
    _import(tmp_path / "hf", tmp_path / "ours")
    _same(tmp_path / "ours", arrays)


def test_meta_params_that_say_otherwise_are_told(tmp_path):
    arrays, _ = models.llama(tmp_path / "llama")
    models.write(tmp_path / "meta", models.config_json(), models.meta(arrays), "consolidated.safetensors")
    (tmp_path / "meta/params.json").write_text(json.dumps({"dim": 32, "n_heads": 8}))
    with pytest.raises(MrprepError, match=r"params\.json has n_heads 8, the config 4"):
        _import(tmp_path / "meta", tmp_path / "ours")


def test_places_without_weights_or_config_are_sentences(tmp_path):
    models.llama(tmp_path / "hf")
    (tmp_path / "hf/model.safetensors").rename(tmp_path / "weights.safetensors")
    with pytest.raises(MrprepError, match=r"holds no weights: there must be model\.safetensors, pytorch_model\.bin"):
        _import(tmp_path / "hf", tmp_path / "ours")
    with pytest.raises(MrprepError, match="is a file: name its directory"):
        _import(tmp_path / "weights.safetensors", tmp_path / "ours", config_file=tmp_path / "hf/config.json")
    with pytest.raises(MrprepError, match=r"there is no .*config\.json: name the model's .* with --config"):
        _import(tmp_path / "weights.safetensors", tmp_path / "ours")
    for name in ("a.ckpt", "b.ckpt"):
        (tmp_path / "hf" / name).touch()
    with pytest.raises(MrprepError, match=r"holds 2 files \.ckpt, such as b\.ckpt: name one"):
        _import(tmp_path / "hf", tmp_path / "ours")


def test_pickles_are_refused_with_the_name_of_the_extra_where_torch_is_missing(tmp_path, monkeypatch):
    models.llama(tmp_path / "hf")
    (tmp_path / "hf/model.safetensors").rename(tmp_path / "hf/pytorch_model.bin")
    monkeypatch.setitem(extras.PACKAGES, "interop", "no_such_package")
    with pytest.raises(MrprepError, match=r"pytorch_model\.bin needs no_such_package: pip install 'mrprep\[interop\]'"):
        _import(tmp_path / "hf", tmp_path / "ours")


def test_what_stands_at_out_stays(tmp_path):
    models.llama(tmp_path / "hf")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours/mine").touch()
    with pytest.raises(MrprepError, match="exists: give another --out"):
        _import(tmp_path / "hf", tmp_path / "ours")
    assert [path.name for path in (tmp_path / "ours").iterdir()] == ["mine"]


def test_the_command_prints_the_map_and_the_check(tmp_path, capsys):
    models.llama(tmp_path / "hf")
    place, ours = str(tmp_path / "hf"), str(tmp_path / "ours")
    assert mrprep(["weights", "import", place, "--out", ours, "--against", "numpy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["model.embed_tokens.weight", "[61,", "32]", "=", "the", "same"]
    assert "model.layers.*.self_attn.q_proj.weight" in lines[2] and " x2 " in lines[2]
    assert lines[-2].startswith("check    logits differ by ") and " allowed)" in lines[-2]
    assert lines[-1] == f"weights  {ours}: 19,424 parameters, 77,696 bytes"
    assert mrprep(["weights", "export", ours, "--out", str(tmp_path / "hf2"), "--family", "gpt9"]) == 1
    assert "model type gpt9 is not known; known: llama" in capsys.readouterr().err
