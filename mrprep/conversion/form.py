"""In which form weights lie in files: told by their names, or by the user where names do not tell."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mrprep.conversion.names import ALL, Link, Names, links
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.training.config import ModelConfig
from mrprep.training.config_json import read_object
from mrprep.training.keys import EMBEDDING, HEAD, check_keys, superfluous, there_is
from mrprep.training.tensors import Stored

Rotary = Literal["half", "interleaved"]
"""Which dimensions of a head are turned together: (i, i + width / 2), or (2i, 2i + 1)."""


@dataclass(frozen=True, slots=True)
class Form:
    """Names and the order of rows."""

    names: Names
    """Of the arrays."""
    interleaved: bool
    """Queries and keys are in Meta's order."""

    def links(self, config: ModelConfig) -> list[Link]:
        """Return the arrays of a shape in this form; MrprepError when it has no place for one."""
        return links(self.names, config, interleaved=self.interleaved)

    def select(
        self, tensors: Mapping[str, Stored], config: ModelConfig, where: Path
    ) -> tuple[dict[str, Stored], list[str]]:
        """Return the tensors that a shape wants, and the names of those that add nothing to them.

        Raises:
            MrprepError: one is missing, unexpected, or of another shape.
        """
        embedding, head = self.names.of(EMBEDDING), self.names.of(HEAD)
        raws = {name: tensor.raw for name, tensor in tensors.items()}
        extra = superfluous(raws, config.tie_word_embeddings, where, embedding, head)
        kept = {name: tensor for name, tensor in tensors.items() if name not in extra}
        wanted = {link.theirs: link.shape for link in self.links(config)}
        check_keys({name: tensor.raw.shape for name, tensor in kept.items()}, wanted, where)
        return kept, sorted(extra)


def form_of(found: Collection[str], family: Names, rotary: Rotary | None, where: Path) -> Form:
    """Return the form of files with arrays of some names.

    Args:
        found: the names.
        family: those that the model type suggests.
        rotary: what the user says of queries and keys, if anything.
        where: the files, or the directory.

    Raises:
        MrprepError: the names are of no known kind, or leave open what ``rotary`` would say.
    """
    names = next((each for each in (family, *ALL) if each.of(EMBEDDING) in found), None)
    if names is None:
        wanted = family.of(EMBEDDING)
        raise MrprepError(
            f"{printable(str(where))} has no {wanted}, and no embedding under any name that is known: "
            f"{there_is(wanted, found)}; take the model with Hugging Face's names"
        )
    if rotary is not None:
        return Form(names, rotary == "interleaved")
    told = _exported(where) if names.interleaved is None else names.interleaved
    if told is None:
        raise MrprepError(
            f"{printable(str(where))} has the names of {names.name}, whose files come with queries and keys in two "
            "orders: say --rotary half (made from Hugging Face's, as mindformers reads it today) or --rotary "
            "interleaved (made from Meta's before that)"
        )
    return Form(names, told)


def _exported(where: Path) -> bool | None:
    """Return what our own export says of the order, beside the files."""
    record = (where if where.is_dir() else where.parent) / "export.json"
    return read_object(record).get("interleaved") if record.is_file() else None
