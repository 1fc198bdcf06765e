"""What is left of a web page: entities, tags, addresses. All on request only.

The tags are those of HTML by name, so ``<T>``, ``a < b`` and ``List<String>`` stay.
"""

import html
import re

_AMPERSANDS = re.compile(r"&(?:amp;)+(?=#?\w{1,32};)")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_BLOCK = (
    "address|article|aside|blockquote|body|br|center|dd|div|dl|dt|fieldset|figcaption|figure|footer|form|frameset"
    "|h[1-6]|head|header|hr|html|legend|li|link|main|meta|nav|noscript|ol|option|p|pre|section|select|table|tbody"
    "|td|textarea|tfoot|th|thead|title|tr|ul"
)
_INLINE = (
    "a|abbr|acronym|audio|b|base|basefont|bdi|bdo|big|button|canvas|caption|cite|code|col|colgroup|data|del|details"
    "|dfn|em|embed|font|frame|i|iframe|img|input|ins|kbd|label|mark|math|meter|object|output|param|picture|q|rp|rt"
    "|ruby|s|samp|script|small|source|span|strike|strong|style|sub|summary|sup|svg|time|tt|u|var|video|wbr"
)
_REST_OF_TAG = r"(?:\s[^<>]{0,2000})?/?>"
_BLOCK_TAG = re.compile(f"</?(?:{_BLOCK}){_REST_OF_TAG}", re.IGNORECASE)
_INLINE_TAG = re.compile(f"</?(?:{_INLINE}){_REST_OF_TAG}|<![a-zA-Z-][^<>]{{0,2000}}>", re.IGNORECASE)
_UNSEEN = re.compile(r"<(/?)(script|style)(?:\s[^<>]{0,2000})?>", re.IGNORECASE)
_URL = re.compile(r"(?:https?://|ftp://|\bwww\.)[^\s<>\"'`{}|\\^\[\]\u3000-\u303f\uff00-\uffef\u4e00-\u9fff]{1,2000}")


def html_entities(text: str) -> tuple[str, int]:
    """Turn ``&nbsp;``, ``&#20013;``, ``&amp;lt;`` into what they stand for, however often they were escaped."""
    if "&" not in text:
        return text, 0
    changed = 0

    def unescape(match: re.Match[str]) -> str:
        nonlocal changed
        plain = html.unescape(match[0])
        changed += plain != match[0]
        return plain

    text, nested = _AMPERSANDS.subn("&", text)
    return _ENTITY.sub(unescape, text), changed + nested


def html_tags(text: str) -> tuple[str, int]:
    """Remove HTML tags and what stands in ``script`` and ``style``; a block-level tag becomes a line end."""
    if "<" not in text:
        return text, 0
    text, unseen = _without_unseen(text)
    text, blocks = _BLOCK_TAG.subn("\n", text)
    text, inline = _INLINE_TAG.subn("", text)
    return text, unseen + blocks + inline


def _without_unseen(text: str) -> tuple[str, int]:
    """Cut from each opening script or style tag to the closing one after it, in one pass."""
    kept: list[str] = []
    done, opened = 0, -1
    for tag in _UNSEEN.finditer(text):
        if not tag[1] and opened < 0:
            opened = tag.start()
        elif tag[1] and opened >= 0:
            kept.append(text[done:opened])
            done, opened = tag.end(), -1
    return "\n".join([*kept, text[done:]]), len(kept)


def urls(text: str) -> tuple[str, int]:
    """Replace web addresses by ``[URL]``; stops, and a bracket that opens before the address, are not of it."""
    return _URL.subn(lambda match: "[URL]" + match[0][len(_without_stops(match[0])) :], text)


def _without_stops(url: str) -> str:
    """Return an address without the marks after it, and without a closing bracket that it does not open."""
    while url[-1] in ".,;:!?" or (url[-1] == ")" and url.count(")") > url.count("(")):
        url = url[:-1]
    return url
