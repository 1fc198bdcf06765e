"""The tokenizer of a build, read as it was when the build was made."""

from mrprep.builddir.manifest import Build
from mrprep.tokenizers.choices import Choices
from mrprep.tokenizers.family import open_tokenizer
from mrprep.tokenizers.protocol import Tokenizer


def tokenizer_of(build: Build, *, checked: bool = False) -> Tokenizer:
    """Open the tokenizer that a build holds.

    Args:
        build: of rows.
        checked: the file is known to be what the manifest says.

    Raises:
        MrprepError: it is missing or damaged.
    """
    facts = build.manifest["tokenizer"]
    choices = Choices(facts.get("eod_piece"), facts.get("added_tokens", "none"), facts.get("pattern"))
    return open_tokenizer(build.file(facts["file"]), choices, checked=checked)
