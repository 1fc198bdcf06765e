"""Who says what the other side of a conversion comes to: ``transformers``, logits that were kept, or NumPy."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mrprep.conversion.check import Logits, fixed_ids, last, stored_logits
from mrprep.conversion.form import Form
from mrprep.conversion.reference import Reference
from mrprep.conversion.transformers_logits import installed, transformers_logits
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config import ModelConfig
from mrprep.training.tensors import Stored

Against = Literal["transformers", "stored", "numpy"]
"""Who is asked."""


@dataclass(frozen=True, slots=True)
class Other:
    """Weights in another program's form."""

    folder: Path
    """Where they lie."""
    config: ModelConfig
    """Their shape, in our words."""
    tensors: Mapping[str, Stored]
    """Under their names."""
    form: Form
    """Names, and the order of rows."""
    loads: bool
    """``transformers`` has a class for the directory."""


def other_logits(other: Other, against: Against | None) -> Logits:
    """Return the logits of the other side; by default of the first of the three that can be asked.

    Raises:
        MrprepError: the one that is to be asked cannot be, or does not load the files.
    """
    if against == "transformers" or (against is None and other.loads and installed()):
        _see_answers(other)
        return transformers_logits(other.folder, other.config)
    kept = None if against == "numpy" else stored_logits(other.folder, other.config)
    if against == "stored" and kept is None:
        raise MrprepError(f"{printable(str(other.folder))} holds no logits to check against: leave --against out")
    if kept:
        return kept
    reference = Reference(other.config, other.tensors, other.form.names, interleaved=other.form.interleaved)
    return Logits(
        "a forward pass in NumPy over the files as they are",
        reference.logits(fixed_ids(other.config), last(other.config)),
    )


def _see_answers(other: Other) -> None:
    if not installed():
        raise MrprepError("--against transformers needs transformers and torch: pip install 'mrprep[interop]'")
    if not other.loads:
        raise MrprepError(
            f"transformers has no class of its own for {printable(str(other.folder))} as it is: leave --against out"
        )
