"""GPT-2's way to write bytes as letters, to which byte-level vocabularies on disk keep: a space is U+0120."""

from functools import cache


@cache
def letters() -> tuple[str, ...]:
    """Return the letter of each byte, 256 of them (``bytes_to_unicode`` of OpenAI's encoder.py)."""
    own = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(256, 512))
    return tuple(chr(byte if byte in own else next(others)) for byte in range(256))


@cache
def _bytes() -> dict[str, int]:
    return {letter: byte for byte, letter in enumerate(letters())}


def raw(piece: str) -> bytes | None:
    """Return the bytes that a piece stands for; None if it holds a letter that stands for none."""
    try:
        return bytes([_bytes()[letter] for letter in piece])
    except KeyError:
        return None
