"""A slow and obvious Llama, Qwen2 or Qwen3, for the tests of the fast ones."""

import numpy as np


def slow_logits(config, weights, ids):
    """Llama a position and a head at a time, float64, after transformers' modeling_llama.py."""

    def norm(x, name):
        return x / np.sqrt((x * x).mean() + config.rms_norm_eps) * weights[name]

    def head_norm(x, name):
        return norm(x, name) if config.model_type == "qwen3" else x

    def linear(x, name):
        return weights[f"{name}.weight"] @ x + weights.get(f"{name}.bias", 0)

    def rotate(x, position):
        half = len(x) // 2
        angles = position / config.rope_theta ** (2 * np.arange(half) / len(x))
        angles = np.concatenate([angles, angles])
        return x * np.cos(angles) + np.concatenate([-x[half:], x[:half]]) * np.sin(angles)

    def attention(h, prefix):
        width, group = config.head_dim, config.num_attention_heads // config.num_key_value_heads
        q, k, v = ([linear(x, f"{prefix}.{n}_proj") for x in h] for n in "qkv")
        mixed = np.zeros((len(h), config.num_attention_heads * width))
        for head in range(config.num_attention_heads):
            mine, shared = slice(head * width, (head + 1) * width), head // group
            theirs = slice(shared * width, (shared + 1) * width)
            for i in range(len(h)):
                query = rotate(head_norm(q[i][mine], f"{prefix}.q_norm.weight"), i)
                keys = [rotate(head_norm(k[j][theirs], f"{prefix}.k_norm.weight"), j) for j in range(i + 1)]
                scores = np.array([query @ key for key in keys]) / np.sqrt(width)
                shares = np.exp(scores - scores.max())
                mixed[i, mine] = sum(s * v[j][theirs] for j, s in enumerate(shares / shares.sum()))
        return [linear(x, f"{prefix}.o_proj") for x in mixed]

    def feed_forward(x, prefix):
        gate, up = weights[f"{prefix}.gate_proj.weight"] @ x, weights[f"{prefix}.up_proj.weight"] @ x
        return weights[f"{prefix}.down_proj.weight"] @ (gate / (1 + np.exp(-gate)) * up)

    stream = [weights["model.embed_tokens.weight"][i] for i in ids]
    for n in range(config.num_hidden_layers):
        layer = f"model.layers.{n}"
        mixed = attention([norm(x, f"{layer}.input_layernorm.weight") for x in stream], f"{layer}.self_attn")
        stream = [x + y for x, y in zip(stream, mixed, strict=True)]
        stream = [x + feed_forward(norm(x, f"{layer}.post_attention_layernorm.weight"), f"{layer}.mlp") for x in stream]
    head = weights["model.embed_tokens.weight" if config.tie_word_embeddings else "lm_head.weight"]
    return np.array([head @ norm(x, "model.norm.weight") for x in stream])
