"""Unicode normal forms: NFC by default, NFKC and full-width folding on request.

`COMPOSED` holds ranges (beyond Latin-1, which is all in NFC) in which every character is a starter that NFC
leaves as it is and that never composes with the character before it; tests hold them against `unicodedata`.
Text made of them alone is in NFC; of other text only the stretches around other characters are normalised.
"""

import re
import unicodedata

COMPOSED = (
    "\u0100-\u02ff\u0391-\u03ff\u0400-\u0482\u048a-\u052f\u05d0-\u05ea\u0620-\u064a\u0660-\u066f"
    "\u2010-\u2027\u202f-\u205f\u2070-\u20cf\u2100-\u2125\u2127-\u2129\u212c-\u2328\u232b-\u2adb\u2b00-\u2cee"
    "\u2e80-\u2fff\u3000-\u3029\u3030-\u3098\u309b-\u9fff\uac00-\ud7a3\ue000-\uf8ff\ufe30-\ufe6f\uff00-\ufffd"
    "\U0001f000-\U0001faff\U00020000-\U0002f7ff"
)
_STARTERS = f"\x00-\xff{COMPOSED}"
COMPOSABLE = re.compile(f"[^{_STARTERS}]")
_STRETCH = re.compile(f"[{_STARTERS}]?[^{_STARTERS}]+")
_FULL_WIDTH = re.compile("[\uff01-\uff5e]")
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def nfc(text: str) -> tuple[str, int]:
    """Compose (UAX #15, form C), counted in stretches of characters that changed."""
    if unicodedata.is_normalized("NFC", text):
        return text, 0
    changed = 0

    def compose(match: re.Match[str]) -> str:
        nonlocal changed
        stretch = unicodedata.normalize("NFC", match[0])
        changed += stretch != match[0]
        return stretch

    return _STRETCH.sub(compose, text), changed


def nfkc(text: str) -> tuple[str, int]:
    """Fold compatibility characters (UAX #15, form KC), counted in characters that are not what NFC gives.

    This turns Chinese full-width punctuation into ASCII and ``…`` into three dots.
    """
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text, 0
    composed, changed = nfc(text)
    folded = sum(count for char, count in _counts(composed) if unicodedata.normalize("NFKC", char) != char)
    return unicodedata.normalize("NFKC", composed), changed + folded


def _counts(text: str) -> list[tuple[str, int]]:
    return [(char, text.count(char)) for char in sorted(set(text))]


def half_width(text: str) -> tuple[str, int]:
    """Turn full-width ASCII (U+FF01–FF5E: ``，``, ``（``, ``Ａ``) into ASCII."""
    count = len(_FULL_WIDTH.findall(text))
    return (text.translate(_HALF_WIDTH), count) if count else (text, 0)
