"""Text decoded with a wrong encoding, put right by ftfy, line by line; about 20 MB/s. On request only.

All that ftfy does beyond that is off: full-width punctuation, curly quotes, ligatures and entities stay.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ftfy import TextFixerConfig


def mojibake(text: str) -> tuple[str, int]:
    """Turn ``cafÃ©`` into ``café`` and ``æ¸…æ™¨`` into ``清晨``, counted in lines."""
    if text.isascii():
        return text, 0
    from ftfy import fix_encoding
    from ftfy.badness import is_bad

    if not is_bad(text):
        return text, 0
    lines = text.split("\n")
    fixed = [fix_encoding(line, _settings()) for line in lines]
    changed = sum(old != new for old, new in zip(lines, fixed, strict=True))
    return ("\n".join(fixed), changed) if changed else (text, 0)


@cache
def _settings() -> "TextFixerConfig":
    from ftfy import TextFixerConfig

    return TextFixerConfig(
        unescape_html=False,
        remove_terminal_escapes=False,
        fix_latin_ligatures=False,
        fix_character_width=False,
        uncurl_quotes=False,
        fix_line_breaks=False,
        fix_surrogates=False,
        remove_control_chars=False,
        normalization=None,
        explain=False,
    )
