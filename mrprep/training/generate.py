"""``mrprep generate``: a text continued by a run's newest weights, token by token."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mrprep.builddir.manifest import Build, open_build
from mrprep.errors import MrprepError
from mrprep.printable import printable
from mrprep.tokenizers.of_build import tokenizer_of
from mrprep.tokenizers.protocol import Tokenizer
from mrprep.training.checkpoint import silent
from mrprep.training.inference import F32, CachedLlama, softmax
from mrprep.training.weights import Origin, read_weights


def generate(
    run: Path,
    prompt: str,
    *,
    tokens: int = 100,
    temperature: float = 0.8,
    top_p: float = 0.95,
    seed: int = 0,
    build: Path | None = None,
    say: Callable[[str], None] = silent,
) -> str:
    """Return the continuation of a prompt: until the end of the document, ``tokens``, or the longest row.

    Args:
        run: of mrprep train, one of its checkpoints, or a directory of weights.
        prompt: begin of a document; may be empty.
        tokens: most to add.
        temperature: the logits are divided by it; 0 takes the likeliest token.
        top_p: only the likeliest tokens that make up this probability are drawn from (Holtzman et al. 2020).
        seed: of the draws.
        build: whose tokenizer it is; the one that the run was trained on if None.
        say: hears of damaged checkpoints that are passed over, and of a text cut at the longest row.

    Raises:
        MrprepError: no weights, no tokenizer, another tokenizer than the weights', or a prompt that is no Unicode
            text or longer than the model's rows.
    """
    _check_text(prompt)
    weights = read_weights(run, say)
    tokenizer = _tokenizer(run, build, weights.origin)
    ids = tokenizer.encode_batch([prompt])[0].tolist() or [tokenizer.eod_id]
    room = weights.config.max_position_embeddings - len(ids)
    if room < 1:
        raise MrprepError(
            f"the prompt has {len(ids)} tokens, the model's rows {weights.config.max_position_embeddings}: shorten it"
        )
    drawn = _draw(CachedLlama(weights.config, weights.arrays), ids, temperature, top_p, np.random.default_rng(seed))
    added = []
    for _, token in zip(range(min(tokens, room)), drawn, strict=False):
        if token == tokenizer.eod_id:
            break
        added.append(token)
    else:
        if room < tokens:
            say(f"stopped after {room} of {tokens} tokens: the model has {len(ids) + room} places, the prompt included")
    return tokenizer.decode([*ids, *added])[len(tokenizer.decode(ids)) :]


def _draw(
    model: CachedLlama, ids: list[int], temperature: float, top_p: float, chance: np.random.Generator
) -> Iterator[int]:
    new = np.asarray(ids, np.int64)
    while True:
        token = pick(model(new)[-1], temperature, top_p, chance)
        yield token
        new = np.array([token], np.int64)


def pick(logits: F32, temperature: float, top_p: float, chance: np.random.Generator) -> int:
    """Draw a token from the logits fp32[vocabulary]."""
    if temperature == 0:
        return int(logits.argmax())
    shares = softmax((logits - logits.max()).astype(np.float64) / temperature)
    falling = np.argsort(-shares, kind="stable")
    before = np.cumsum(shares[falling]) - shares[falling]
    kept = falling[before < top_p]
    return int(chance.choice(kept, p=shares[kept] / shares[kept].sum()))


def _check_text(prompt: str) -> None:
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        raise MrprepError(
            f"the prompt is no Unicode text (character {error.start + 1} of it): give it in UTF-8, in a UTF-8 locale"
        ) from None


def _tokenizer(run: Path, build: Path | None, origin: Origin) -> Tokenizer:
    if build is None:
        try:
            build = Path(json.loads((run / "settings.json").read_bytes())["builds"][0])
        except (OSError, ValueError, LookupError):
            raise MrprepError(
                f"{printable(str(run))} does not say which build it is of: name it with --build"
            ) from None
    opened = open_build(build)
    _must_be_there(opened)
    tokenizer = tokenizer_of(opened)
    origin.check_tokenizer(tokenizer.sha256, build)
    return tokenizer


def _must_be_there(build: Build) -> None:
    file = build.file(build.manifest["tokenizer"]["file"])
    if not file.is_file():
        raise MrprepError(
            f"{printable(str(file))} is missing: put it back, or name a build with that tokenizer with --build"
        )
