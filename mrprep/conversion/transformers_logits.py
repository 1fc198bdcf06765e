"""What ``transformers`` says, where it is installed."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mrprep.conversion.check import Logits, fixed_ids, last
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config import ModelConfig


def installed() -> bool:
    """Return whether ``transformers`` and the ``torch`` that it needs are there."""
    return all(find_spec(name) is not None for name in ("torch", "transformers"))


def transformers_logits(folder: Path, config: ModelConfig) -> Logits:
    """Run a directory of weights in ``transformers``, in fp32, no code of the directory's, nothing fetched.

    Raises:
        MrprepError: it does not load the directory, or not all of it.
    """
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    shown = f"transformers {transformers.__version__} does not load {printable(str(folder))}"
    try:
        model, told = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, output_loading_info=True, attn_implementation="eager"
        )
    except Exception as error:  # whatever its loaders raise
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise MrprepError(f"{shown} ({printable(lines[0])})") from None
    _see_whole(told, shown)
    with torch.no_grad():
        logits = model(torch.from_numpy(fixed_ids(config))[None]).logits[0, -last(config) :]
    return Logits(f"transformers {transformers.__version__}", logits.numpy())


def _see_whole(told: dict[str, Any], shown: str) -> None:
    for what in ("missing_keys", "mismatched_keys"):
        if told.get(what):
            raise MrprepError(f"{shown} whole ({what}: {printable(str(sorted(map(str, told[what]))[0]))})")
