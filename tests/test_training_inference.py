"""The decoder in NumPy against the slow one; draws by hand. No MindSpore."""

from types import SimpleNamespace

import numpy as np
import pytest
from slow_llama import slow_logits

from mrprep.training import generate as generating
from mrprep.training.config import ModelConfig
from mrprep.training.generate import pick
from mrprep.training.inference import CachedLlama
from mrprep.training.weights import Origin, Weights

VOCAB = 23


FAMILIES = [{"tie_word_embeddings": True}, {}, {"model_type": "qwen2"}, {"model_type": "qwen3", "head_dim": 6}]


def _model(**family):
    config = ModelConfig(
        vocab_size=VOCAB,
        hidden_size=16,
        intermediate_size=20,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=12,
        **family,
    )
    width, tied = config.head_dim, config.tie_word_embeddings
    noise = np.random.default_rng(1)
    shapes = {"model.embed_tokens": (VOCAB, 16), "model.norm": (16,)} | ({} if tied else {"lm_head": (VOCAB, 16)})
    for n in range(2):
        layer = {"input_layernorm": (16,), "post_attention_layernorm": (16,)}
        layer |= {f"self_attn.{name}_proj": (heads * width, 16) for name, heads in zip("qkv", (4, 2, 2), strict=True)}
        layer |= {"self_attn.o_proj": (16, 4 * width)}
        layer |= {f"self_attn.{name}_norm": (width,) for name in "qk" if config.head_norms}
        layer |= {"mlp.gate_proj": (20, 16), "mlp.up_proj": (20, 16), "mlp.down_proj": (16, 20)}
        shapes |= {f"model.layers.{n}.{name}": shape for name, shape in layer.items()}
    arrays = {
        f"{name}.weight": (noise.standard_normal(shape) * 0.3 + (len(shape) == 1)).astype(np.float32)
        for name, shape in shapes.items()
    }
    if config.qkv_bias:
        projections = [
            name.removesuffix(".weight")
            for name in arrays
            if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight"))
        ]
        arrays |= {
            f"{name}.bias": noise.standard_normal(len(arrays[f"{name}.weight"])).astype(np.float32)
            for name in projections
        }
    assert sum(a.size for a in arrays.values()) == config.parameter_count
    return config, arrays


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_equal_the_slow_forward_whole_or_piece_by_piece(family):
    config, arrays = _model(**family)
    ids = np.random.default_rng(0).integers(0, VOCAB, 12)
    wanted = slow_logits(config, {name: a.astype(np.float64) for name, a in arrays.items()}, ids)
    assert np.abs(CachedLlama(config, arrays)(ids) - wanted).max() < 2e-5
    model = CachedLlama(config, arrays)
    pieces = np.concatenate([model(ids[a:b]) for a, b in ((0, 5), (5, 6), (6, 10), (10, 12))])
    assert np.abs(pieces - wanted).max() < 2e-5


def test_temperature_nought_takes_the_likeliest():
    assert pick(np.array([1.0, 3.0, 2.0], np.float32), 0, 1.0, np.random.default_rng(0)) == 1


def test_draws_follow_the_probabilities_that_top_p_leaves():
    """Shares 0.5, 0.3, 0.15, 0.05: at 0.9 the last is out; at 0.5 the first is alone."""
    logits = np.log(np.array([0.05, 0.3, 0.5, 0.15], np.float32))
    chance = np.random.default_rng(0)
    drawn = np.bincount([pick(logits, 1.0, 0.9, chance) for _ in range(4000)], minlength=4) / 4000
    assert np.abs(drawn - np.array([0, 0.3, 0.5, 0.15]) / 0.95).max() < 0.03
    assert {pick(logits, 1.0, 0.5, chance) for _ in range(50)} == {2}


def test_a_low_temperature_sharpens():
    logits = np.log(np.array([0.4, 0.6], np.float32))
    chance = np.random.default_rng(0)
    drawn = np.mean([pick(logits, 0.5, 1.0, chance) for _ in range(4000)])
    assert drawn == pytest.approx(0.36 / 0.52, abs=0.03)


def test_a_temperature_near_nought_takes_the_likeliest():
    assert pick(np.array([1.0, 3.0, 2.0], np.float32), 1e-300, 1.0, np.random.default_rng(0)) == 1


def test_a_text_that_fills_the_places_of_the_model_says_so(monkeypatch, tmp_path):
    """12 places, 3 of them the prompt's; the tokenizer has a letter an id and no end of a document."""
    letters = SimpleNamespace(
        eod_id=-1,
        encode_batch=lambda texts: (np.array([ord(c) - 97 for c in texts[0]]), None),
        decode=lambda ids: "".join(chr(97 + i) for i in ids),
    )
    monkeypatch.setattr(generating, "_tokenizer", lambda *_: letters)
    monkeypatch.setattr(generating, "read_weights", lambda run, say: Weights(Origin(run), *_model()))
    said = []
    assert len(generating.generate(tmp_path, "abc", tokens=500, say=said.append)) == 9
    assert said == ["stopped after 9 of 500 tokens: the model has 12 places, the prompt included"]
    assert len(generating.generate(tmp_path, "abc", tokens=9, say=said.append)) == 9
    assert len(said) == 1
