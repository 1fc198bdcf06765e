"""Models that ``transformers`` made go in and come out, and it says the same of them; PyTorch's own files are read.

Skipped where torch and transformers are not installed: pip install 'mrprep[interop]'.
"""

import json
import os

import conversion_models as models
import numpy as np
import pytest
from safetensors.numpy import load_file

from mrprep.cli.app import run as mrprep
from mrprep.conversion.check import LOGITS
from mrprep.conversion.exporting import export_weights
from mrprep.conversion.importing import import_weights
from mrprep.errors import MrprepError
from mrprep.training.inference import CachedLlama
from mrprep.training.tensors import open_tensors
from mrprep.training.weights import read_weights

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

IDS = np.random.default_rng(5).integers(0, 61, 40)
FAMILIES = {
    "llama": ("Llama", {}),
    "llama 3.1, heads of their own width": ("Llama", {"rope_scaling": models.LLAMA3, "head_dim": 12}),
    "llama with biases": ("Llama", {"attention_bias": True}),
    "llama, one key-value head": ("Llama", {"num_key_value_heads": 1}),
    "mistral": ("Mistral", {"head_dim": 16}),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen2, yarn": ("Qwen2", {"rope_scaling": {"rope_type": "yarn", "factor": 2.0,
                                               "original_max_position_embeddings": 32}}),
    "qwen3": ("Qwen3", {"head_dim": 12}),
}  # fmt: skip


def made(family="llama", seed=0):
    """Return a random model of transformers, whose norms are not 1 and biases not 0."""
    name, more = FAMILIES[family]
    torch.manual_seed(seed)
    config = getattr(transformers, f"{name}Config")(**(models.SHAPE | {"initializer_range": 0.25} | more))
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    for parameter in model.parameters():
        if parameter.ndim == 1:
            parameter.data += 0.3 * torch.randn_like(parameter)
    return model


def logits(model, ids=IDS):
    with torch.no_grad():
        return model(torch.from_numpy(ids)[None]).logits[0].numpy()


@pytest.mark.parametrize("family", FAMILIES)
def test_in_and_out_again_it_is_the_same_model(family, tmp_path):
    model = made(family)
    model.save_pretrained(tmp_path / "hf")
    done = import_weights(tmp_path / "hf", tmp_path / "ours")
    assert done.check.by == f"transformers {transformers.__version__}"
    assert done.check.largest < 1e-5 * done.check.logit
    read = read_weights(tmp_path / "ours")
    wanted = logits(model)
    assert np.abs(CachedLlama(read.config, read.arrays)(IDS) - wanted).max() < 1e-4
    back = export_weights(tmp_path / "ours", tmp_path / "back")
    assert back.check.by == done.check.by
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "back", dtype=torch.float32)
    assert type(again) is type(model)
    assert np.array_equal(logits(again), wanted)


def test_bf16_in_many_files(tmp_path):
    """transformers writes the index; the numbers stay, and the fp32 of both sides is that of the same bf16."""
    model = made("qwen3").to(torch.bfloat16)
    model.save_pretrained(tmp_path / "hf", max_shard_size="8KB")
    assert (tmp_path / "hf/model.safetensors.index.json").is_file()
    import_weights(tmp_path / "hf", tmp_path / "ours")
    theirs, ours = open_tensors(tmp_path / "hf"), open_tensors(tmp_path / "ours")
    assert theirs.keys() == ours.keys() and {tensor.kind for tensor in ours.values()} == {"BF16"}
    assert all(np.array_equal(theirs[name].raw, ours[name].raw) for name in ours)
    export_weights(tmp_path / "ours", tmp_path / "back", shard_bytes=8000)
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "back")
    assert again.dtype == torch.bfloat16
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), model.parameters(), strict=True))


@pytest.mark.parametrize("form", ["zip", "legacy", "two files", "bf16"])
def test_pytorch_model_bin(form, tmp_path):
    model = made("qwen2").to(torch.bfloat16 if form == "bf16" else torch.float32)
    held = {name: tensor.clone() for name, tensor in model.state_dict().items()}  # lm_head too, the embedding again
    model.config.save_pretrained(tmp_path / "hf")
    if form == "two files":
        names = list(held)
        places = {}
        for number, some in enumerate((names[:10], names[10:])):
            file = f"pytorch_model-0000{number + 1}-of-00002.bin"
            torch.save({name: held[name] for name in some}, tmp_path / "hf" / file)
            places |= dict.fromkeys(some, file)
        index = tmp_path / "hf/pytorch_model.bin.index.json"
        index.write_text(json.dumps({"weight_map": places}))
    else:
        torch.save(held, tmp_path / "hf/pytorch_model.bin", _use_new_zipfile_serialization=form != "legacy")
    done = import_weights(tmp_path / "hf", tmp_path / "ours", against="numpy")
    assert done.left_out == ["lm_head.weight"]
    ours = open_tensors(tmp_path / "ours")
    for name, tensor in model.named_parameters():
        assert np.array_equal(ours[name].wide(), tensor.float().detach().numpy()), name


class Evil:
    def __reduce__(self):
        return os.mkdir, ("evil",)


@pytest.mark.parametrize("content", ["evil", "list", "ids", "half"])
def test_a_bin_that_is_more_or_less_than_weights_is_a_sentence(content, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = made()
    model.config.save_pretrained(tmp_path / "hf")
    file = tmp_path / "hf/pytorch_model.bin"
    held = {"evil": {"a": Evil()}, "list": [1], "ids": {"model.embed_tokens.weight": torch.arange(3)}}
    torch.save(held.get(content, model.state_dict()), file)
    if content == "half":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert mrprep(["weights", "import", "hf", "--out", "ours"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("mrprep: hf/pytorch_model.bin") and said.count("\n") == 1
    assert not (tmp_path / "evil").exists() and not (tmp_path / "ours").exists()


def test_weights_that_transformers_reads_otherwise_are_found(tmp_path, monkeypatch):
    """A theta that our side gets wrong: the logits tell, and nothing is published."""
    made().save_pretrained(tmp_path / "hf")
    monkeypatch.setattr("mrprep.conversion.importing.our_logits", _with_another_theta)
    with pytest.raises(MrprepError, match=r"differ by up to .* from those of transformers .* nothing was written"):
        import_weights(tmp_path / "hf", tmp_path / "ours")
    assert [path.name for path in tmp_path.iterdir()] == ["hf"]


def _with_another_theta(config, tensors):
    from mrprep.conversion.check import our_logits

    return our_logits(config.model_copy(update={"rope_theta": 1000.0}), tensors)


def test_kept_logits_stand_in_for_transformers(tmp_path):
    """Exported where it is installed, imported where it is not: the logits kept in the directory are asked."""
    made("mistral").save_pretrained(tmp_path / "hf")
    import_weights(tmp_path / "hf", tmp_path / "ours")
    export_weights(tmp_path / "ours", tmp_path / "out")
    with np.load(tmp_path / "ours" / LOGITS) as held:
        wanted = logits(transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out"), held["ids"])[-8:]
        assert np.abs(held["logits"] - wanted).max() < 1e-5
    done = import_weights(tmp_path / "out", tmp_path / "again", against="stored")
    assert done.check.by == f"{LOGITS} beside the weights"
    assert load_file(tmp_path / "again/model.safetensors").keys() == open_tensors(tmp_path / "hf").keys()
