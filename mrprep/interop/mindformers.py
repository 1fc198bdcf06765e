"""A build for mindformers 1.8: a YAML that trains on it, the list of its shards, and a script that starts the devices.

The keys are those of its ``configs/general/llm_pretrain_dense_template.yaml``; each stack reads the layout it knows:
legacy graph (Llama, Qwen2) flat rows, Mcore graph (Qwen3) mcore rows.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrprep import order
from mrprep.builddir.manifest import Build
from mrprep.errors import MrprepError
from mrprep.interop.place import new_directory
from mrprep.interop.yaml import Alias, dump
from mrprep.printable import printable
from mrprep.training.config import ModelConfig
from mrprep.training.presets import resolve
from mrprep.training.shards import TrainingShards, read_shards

STACKS = {"legacy": "flat", "mcore": "mcore"}
"""Stack of mindformers -> layout of the rows that it reads."""
_TRAINS = {"legacy": ("llama", "qwen2"), "mcore": ("qwen3",)}
_COLUMNS = {"legacy": ["input_ids"], "mcore": ["input_ids", "labels", "loss_mask", "position_ids"]}
_DTYPES = {
    "legacy": {
        "compute_dtype": "bfloat16",
        "layernorm_compute_type": "float32",
        "softmax_compute_type": "float32",
        "rotary_dtype": "float32",
        "param_init_type": "float32",
    },
    "mcore": {
        "compute_dtype": "bfloat16",
        "layernorm_compute_dtype": "float32",
        "softmax_compute_dtype": "float32",
        "rotary_dtype": "float32",
        "params_dtype": "float32",
    },
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """How a model is laid over devices."""

    devices: int
    """In all (the world size)."""
    tp: int
    """Devices that share each layer."""
    pp: int
    """Stages that share the layers."""
    micro: int
    """Rows a forward pass of one data-parallel group."""
    accum: int
    """Forward passes a step; with ``pp`` over 1, the micro-batches that fill the pipeline."""
    zero: bool
    """Split the optimizer's state over the data-parallel groups."""
    recompute: bool
    """Compute activations again instead of keeping them."""
    document_mask: bool
    """Keep documents of a row apart, by ``actual_seq_len``; mcore only."""

    @property
    def dp(self) -> int:
        """Data-parallel groups."""
        return self.devices // (self.tp * self.pp)

    @property
    def global_batch(self) -> int:
        """Rows a step."""
        return self.dp * self.micro * self.accum


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    stack: str
    steps: int
    """Whole steps an epoch."""
    left_over: int
    """Rows that an epoch leaves out."""


def export_mindformers(
    build: Build, out: Path, model: str, stack: str | None, dp: int | None, cluster: Cluster
) -> Exported:
    """Write ``train.yaml``, ``shards.txt`` and ``train.sh``.

    Args:
        build: of shards; it is named in the YAML by its absolute path.
        out: directory to make.
        model: name of a preset, or path of a ``config.json``.
        stack: legacy or mcore; by the layout of the build if None.
        dp: data-parallel groups that the user counts on; not checked if None.
        cluster: how the model is laid over devices.

    Raises:
        MrprepError: the numbers do not fit each other, the model, the layout or the rows; or something is at ``out``.
    """
    shards = read_shards(build.path.absolute())
    chosen = stack or next(name for name, layout in STACKS.items() if layout == shards.layout)
    config = resolve(model, shards.vocab_size, shards.seq, shards.eod_id, shards.pad_id)
    _check_stack(chosen, shards, config, cluster)
    _check_cluster(cluster, dp, config, shards)
    steps = order.steps_per_epoch(shards.rows, cluster.global_batch)
    with new_directory(out) as staged:
        (staged / "shards.txt").write_text("".join(f"{file}\n" for file in shards.files))
        (staged / "train.yaml").write_text(dump(settings(shards, config, chosen, cluster)), "utf-8")
        script = staged / "train.sh"
        script.write_text(launch_script(cluster))
        script.chmod(script.stat().st_mode | 0o111)
    return Exported(chosen, steps, shards.rows - steps * cluster.global_batch)


def _check_stack(stack: str, shards: TrainingShards, config: ModelConfig, cluster: Cluster) -> None:
    if stack not in STACKS:
        raise MrprepError(f"--stack {printable(stack)} is not known: legacy or mcore")
    if STACKS[stack] != shards.layout:
        raise MrprepError(
            f"the {stack} stack reads layout {STACKS[stack]}, {printable(str(shards.build))} has {shards.layout}: "
            f"build it with --layout {STACKS[stack]}, or take the other --stack"
        )
    if config.model_type not in _TRAINS[stack]:
        raise MrprepError(
            f"the {stack} stack of mindformers 1.8 trains {' and '.join(_TRAINS[stack])}, not {config.model_type}: "
            "give the --model config.json of one"
        )
    if cluster.document_mask and (stack == "legacy" or cluster.micro > 1):
        raise MrprepError("--document-mask needs layout mcore, which has actual_seq_len, and --micro 1")


def _check_cluster(cluster: Cluster, dp: int | None, config: ModelConfig, shards: TrainingShards) -> None:
    tp, pp = cluster.tp, cluster.pp
    if cluster.dp * tp * pp != cluster.devices or dp not in (None, cluster.dp):
        named = f" and --dp {dp}" if dp else ""
        raise MrprepError(
            f"{cluster.devices} devices are not filled by --tp {tp}, --pp {pp}{named}: make dp * tp * pp equal"
        )
    shared = {
        "num_attention_heads": config.num_attention_heads,
        "num_key_value_heads": config.num_key_value_heads,
        "intermediate_size": config.intermediate_size,
        "vocab_size": config.vocab_size,
    }
    if uneven := [f"{name} {number}" for name, number in shared.items() if number % tp]:
        raise MrprepError(f"--tp {tp} does not divide {', '.join(uneven)}: take another --tp or model")
    if config.num_hidden_layers % pp:
        raise MrprepError(f"--pp {pp} does not divide {config.num_hidden_layers} layers: take one that does")
    if pp > 1 and cluster.accum < pp:
        raise MrprepError(f"--accum {cluster.accum} micro-batches do not fill {pp} stages: give --accum {pp} or more")
    if shards.rows < cluster.global_batch:
        raise MrprepError(
            f"{printable(str(shards.build))} has {shards.rows} rows, one step takes {cluster.global_batch} "
            "(dp * micro * accum): give smaller numbers, or more text"
        )


def settings(shards: TrainingShards, config: ModelConfig, stack: str, cluster: Cluster) -> dict[str, Any]:
    """Return what ``train.yaml`` says."""
    dataset = _dataset(shards, stack, cluster)
    piped = cluster.pp > 1
    return {
        "use_legacy": stack == "legacy",
        "seed": 0,
        "output_dir": "./output",
        "run_mode": "train",
        "use_parallel": cluster.devices > 1,
        "load_checkpoint": "",
        "load_ckpt_format": "safetensors",
        "auto_trans_ckpt": False,
        "resume_training": False,
        "trainer": {"type": "CausalLanguageModelingTrainer", "model_name": config.model_type},
        "runner_config": {
            "epochs": 1,
            "batch_size": cluster.micro,
            "sink_mode": True,
            "sink_size": 1,
            "gradient_accumulation_steps": 1 if piped else cluster.accum,
        },
        "train_dataset": dataset,
        "train_dataset_task": {"type": "CausalLanguageModelDataset", "dataset_config": Alias("train_dataset")},
        "model": _model(shards, config, stack, cluster),
        "optimizer": {"type": "AdamW", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1},
        "lr_schedule": {
            "type": "CosineWithWarmUpLR",
            "learning_rate": 3e-4,
            "lr_end": 3e-5,
            "warmup_ratio": 0.01,
            "total_steps": -1,
        },
        "runner_wrapper": {"type": "MFTrainOneStepCell", "scale_sense": 1.0, "use_clip_grad": True},
        "parallel_config": {
            "data_parallel": cluster.dp,
            "model_parallel": cluster.tp,
            "pipeline_stage": cluster.pp,
            "micro_batch_num": cluster.accum if piped else 1,
            "use_seq_parallel": False,
            "vocab_emb_dp": True,
        },
        "micro_batch_interleave_num": 1,
        "parallel": {
            "parallel_mode": 1,
            "gradients_mean": False,
            "full_batch": False,
            "dataset_strategy": [[cluster.dp, 1]] * len(dataset["input_columns"]),
            "enable_parallel_optimizer": cluster.zero,
            "parallel_optimizer_config": {"gradient_accumulation_shard": False, "parallel_optimizer_threshold": 64},
            "strategy_ckpt_config": {"save_file": "./ckpt_strategy.ckpt", "only_trainable_params": False},
        },
        "recompute_config": {"recompute": cluster.recompute, "select_recompute": False},
        "callbacks": [
            {"type": "MFLossMonitor"},
            {
                "type": "CheckpointMonitor",
                "prefix": config.model_type,
                "save_checkpoint_steps": 1000,
                "keep_checkpoint_max": 3,
                "integrated_save": False,
                "async_save": False,
                "checkpoint_format": "safetensors",
            },
        ],
        "monitor_config": {
            "monitor_on": True,
            "dump_path": "./dump",
            "step_interval": 10,
            "local_loss_format": ["log"],
            "local_norm_format": ["log"],
        },
        "context": {
            "mode": 0,
            "device_target": "Ascend",
            "max_device_memory": "58GB",
            "jit_config": {"jit_level": "O0"},
        },
    }


def _dataset(shards: TrainingShards, stack: str, cluster: Cluster) -> dict[str, Any]:
    columns = [*_COLUMNS[stack], *(["actual_seq_len"] if cluster.document_mask else [])]
    files = [str(file) for file in shards.files]
    return {
        "data_loader": {"type": "MindDataset", "dataset_files": files, "shuffle": True},
        "input_columns": columns,
        **({"construct_args_key": columns} if stack == "mcore" else {}),
        "num_parallel_workers": 8,
        "python_multiprocessing": False,
        "drop_remainder": True,
        "numa_enable": False,
        "prefetch_size": 1,
    }


def _model(shards: TrainingShards, config: ModelConfig, stack: str, cluster: Cluster) -> dict[str, Any]:
    ids = {"bos_token_id": shards.bos_id, "eos_token_id": shards.eod_id, "pad_token_id": shards.pad_id}
    ids = {name: shards.eod_id if value is None else value for name, value in ids.items()}
    common = {"seq_length": shards.seq, "vocab_size": config.vocab_size, "hidden_size": config.hidden_size, **ids}
    if stack == "legacy":
        return {"model_config": _llama(config, common), "arch": {"type": "LlamaForCausalLM"}}
    masks = {"use_eod_attn_mask_compression": True, "use_eod_reset": True} if cluster.document_mask else {}
    shape = config.model_dump(exclude={"rope_scaling", "hidden_size", "vocab_size"})
    scaling = {"rope_scaling": config.rope_scaling.model_dump(exclude_none=True)} if config.rope_scaling else {}
    names = {"architectures": ["Qwen3ForCausalLM"], "hidden_act": "silu"}
    block = {**names, **common, **shape, **scaling, "input_sliced_sig": True, **masks, "offset": 0, **_DTYPES[stack]}
    return {"model_config": block}


def _llama(config: ModelConfig, common: dict[str, Any]) -> dict[str, Any]:
    if config.rope_scaling or config.head_dim * config.num_attention_heads != config.hidden_size:
        raise MrprepError("the legacy stack has no rope_scaling of ours and no head_dim of its own: leave them out")
    return {
        "type": "LlamaConfig",
        **common,
        "num_layers": config.num_hidden_layers,
        "num_heads": config.num_attention_heads,
        "n_kv_heads": config.num_key_value_heads,
        "intermediate_size": config.intermediate_size,
        "max_position_embedding": config.max_position_embeddings,
        "rms_norm_eps": config.rms_norm_eps,
        "theta": config.rope_theta,
        "qkv_has_bias": config.qkv_bias,
        "attn_proj_has_bias": config.output_bias,
        "tie_word_embeddings": config.tie_word_embeddings,
        "init_method_std": config.initializer_range,
        "use_flash_attention": True,
        "input_sliced_sig": False,
        "offset": 0,
        **_DTYPES["legacy"],
    }


def launch_script(cluster: Cluster) -> str:
    """Return the script that starts the devices of one node, and goes on from a checkpoint that is there."""
    here = min(8, cluster.devices)
    options = {"worker_num": cluster.devices, "local_worker_num": here, "master_port": 8118, "log_dir": "msrun_log"}
    told = " ".join(f"--{name}={shlex.quote(str(value))}" for name, value in options.items())
    return f"""#!/bin/sh
# {cluster.devices} devices, {here} a node. MINDFORMERS: a checkout of mindformers r1.8.0, which has run_mindformer.py.
# On several nodes: MASTER_ADDR, the address of the first, and NODE_RANK, from 0, on each.
set -e
: "${{MINDFORMERS:?set it to a checkout of mindformers}}"
cd "$(dirname "$0")"
[ -d output/checkpoint ] && resume="--load_checkpoint output/checkpoint --resume_training True"
exec msrun {told} --master_addr="${{MASTER_ADDR:-127.0.0.1}}" --node_rank="${{NODE_RANK:-0}}" --join=True \\
  "$MINDFORMERS/run_mindformer.py" --config train.yaml $resume
"""
