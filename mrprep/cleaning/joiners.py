"""ZWJ, ZWNJ and variation selectors: kept where the script or an emoji needs them, removed elsewhere.

Kept are
- ZWJ and ZWNJ after a letter or mark of a script that joins or stacks (Arabic to Malayalam, Sinhala, Myanmar,
  Khmer, Mongolian …) and before one when no joiner stands in front (Persian suffixes on Latin words);
- ZWJ between two emoji, skin tones and U+FE0F included (UTS #51, ED-16);
- variation selectors after a character that can have a variant: symbols, digits, Han, Myanmar, emoji;
- the Mongolian vowel separator and free variation selectors after a Mongolian letter.

One joiner a place: of a run the first stays at most.
"""

import re

_JOINERS = "\u180b-\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINING = (
    "\u0590-\u08ff"  # Hebrew, Arabic, Syriac, N'Ko, Mandaic
    "\u0900-\u0dff"  # Devanagari to Sinhala
    "\u0f00-\u109f\u1780-\u180a\u1810-\u18af\u1a20-\u1aaf\u1b00-\u1bff"  # Tibetan to Mongolian
    "\ua800-\ua8ff\ua980-\uaaff\uabc0-\uabff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
_EMOJI = "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u2328\u232b-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935"
_EMOJI += "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_VARIANT = (
    _EMOJI + "#*0-9\u2010-\u2027\u2030-\u205e\u2070-\u2125\u2127-\u2129\u212c-\u218f\u2200-\u22ff\u2460-\u259f"
    "\u27c0-\u2adb\u2add-\u2aff\u3001-\u3029\u3400-\u9fff\u1000-\u109f\ua840-\ua87f\uff01-\uff60"
    "\U00020000-\U0002f7ff\U00030000-\U0003ffff"
)
JOINER = re.compile(f"[{_JOINERS}]")
_STRAY = re.compile(
    "("
    f"(?<=[{_JOINING}])[\u200c\u200d]"
    f"|(?<![{_JOINERS}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?:(?<=[{_EMOJI}])|(?<=[{_VARIANT}]\ufe0f))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_VARIANT}])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    "|(?<=[\u180a\u1820-\u18aa])[\u180b-\u180f]"
    "|(?<=[\u1820-\u18aa][\u180b-\u180d\u180f])\u180e"
    f")|[{_JOINERS}]"
)


def joiners(text: str) -> tuple[str, int]:
    """Remove joiners and selectors that stand where nothing needs them."""
    cleaned = _STRAY.sub(r"\1", text)
    return cleaned, len(text) - len(cleaned)
