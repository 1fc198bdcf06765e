"""Tiny random models of every family, as the other programs' files have them, written by hand."""

import json

import numpy as np
from safetensors.numpy import save_file

from mrprep.training.config import ModelConfig

SHAPE = {
    "vocab_size": 61,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}


def weights(config, seed=0):
    """Return arrays that hide nothing: norms are not 1, biases not 0."""
    draw = np.random.default_rng(seed)
    return {
        name: (draw.standard_normal(shape) * (0.25 if len(shape) > 1 else 0.3) + (len(shape) == 1)).astype(np.float32)
        for name, shape in config.shapes().items()
    }


def config_json(**changes):
    return {"model_type": "llama", "rms_norm_eps": 1e-5, "hidden_act": "silu"} | SHAPE | changes


def write(folder, config, arrays, name="model.safetensors"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file({key: np.ascontiguousarray(array) for key, array in arrays.items()}, folder / name)
    return folder


def llama(folder, seed=0, **changes):
    """Write a model under Hugging Face's names; return its arrays and shape."""
    raw = config_json(**changes)
    config = ModelConfig.model_validate({k: v for k, v in raw.items() if k in ModelConfig.model_fields})
    arrays = weights(config, seed)
    write(folder, raw, arrays)
    return arrays, config


SHORT = {
    "input_layernorm": "attention_norm", "self_attn.q_proj": "attention.wq", "self_attn.k_proj": "attention.wk",
    "self_attn.v_proj": "attention.wv", "self_attn.o_proj": "attention.wo", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "feed_forward.w1", "mlp.down_proj": "feed_forward.w2", "mlp.up_proj": "feed_forward.w3",
}  # fmt: skip


def shortened(name):
    for ours, theirs in SHORT.items():
        name = name.replace(f".{ours}.", f".{theirs}.")
    return name


def internlm2(arrays, kv_heads=2, group=2, width=8):
    """Return the arrays as InternLM2 packs them, a head at a time: q q k v for each key-value head."""
    packed = {}
    for name, array in arrays.items():
        if ".q_proj." in name:
            q, k, v = (arrays[name.replace("q_proj", f"{each}_proj")] for each in "qkv")
            rows = []
            for head in range(kv_heads):
                rows += [q[query * width : (query + 1) * width] for query in range(head * group, (head + 1) * group)]
                rows += [k[head * width : (head + 1) * width], v[head * width : (head + 1) * width]]
            packed[shortened(name).replace("attention.wq", "attention.wqkv")] = np.concatenate(rows)
        elif ".k_proj." not in name and ".v_proj." not in name:
            renamed = shortened(name).replace("embed_tokens", "tok_embeddings").replace("lm_head", "output")
            packed[renamed] = array
    return packed


def meta(arrays, width=8):
    """Return the arrays as Meta has them: row i of a head's first half next to row i of its second."""
    found = {}
    for name, array in arrays.items():
        renamed = shortened(name).removeprefix("model.").replace("embed_tokens", "tok_embeddings")
        if ".q_proj." in name or ".k_proj." in name:
            order = []
            for start in range(0, len(array), width):
                for i in range(width // 2):
                    order += [start + i, start + width // 2 + i]
            found[renamed] = array[order]
        else:
            found[renamed.replace("lm_head", "output")] = array
    return found


def mindformers(arrays):
    """Return the arrays under the names that ``convert_weight.py`` of mindformers 1.8.0 gives them."""
    return {
        shortened(name)
        .replace("embed_tokens.weight", "tok_embeddings.embedding_weight")
        .replace("model.norm.", "model.norm_out."): array
        for name, array in arrays.items()
    }
