"""Personal data and secrets, replaced by placeholders. All on request only.

They are patterns, so neither complete nor free of false alarms.
Every pattern begins at a bounded prefix and repeats bounded or disjoint classes: linear on any input.
"""

import ipaddress
import re
from collections.abc import Callable

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.ASCII)
_PHONE = re.compile(
    r"(?<![\d.+-])(?:"
    r"(?:\+?86[- ]?)?1[3-9]\d(?:[- ]?\d{4}){2}"  # Chinese mobile
    r"|(?:\(0\d{2,3}\)[- ]?|0\d{2,3}[- ])\d{7,8}"  # Chinese landline with its area code
    r"|\+\d{1,3}(?:[- .]?\(?\d{1,4}\)?){2,5}"  # international (E.164)
    r"|\(?[2-9]\d{2}\)?[- .][2-9]\d{2}[- .]\d{4}"  # North America
    r")(?![\d.-]?\d)",
    re.ASCII,
)
_ID_NUMBER = re.compile(
    r"(?<![\dA-Za-z])[1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\dA-Za-z])",
    re.ASCII,
)
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECKS = "10X98765432"
_IP_ADDRESS = re.compile(
    r"(?<![\w.:])(?<!ection )(?<!hapter )(?:\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)"  # a port may follow
    r"|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:]|\.\d))",
    re.ASCII,
)
_SECRET = re.compile(
    r"(?<![\w-])(?:"
    r"(?:AKIA|ASIA)[0-9A-Z]{16}"  # Amazon
    r"|AIza[\w-]{35}"  # Google
    r"|LTAI[0-9A-Za-z]{12,26}|AKID[0-9A-Za-z]{32}"  # Alibaba, Tencent
    r"|gh[oprsu]_[0-9A-Za-z]{36}|github_pat_\w{60,90}|glpat-[\w-]{20}"  # GitHub, GitLab
    r"|sk-[\w-]{20,200}|hf_[0-9A-Za-z]{30,40}"  # OpenAI and others, Hugging Face
    r"|[rs]k_live_[0-9A-Za-z]{24,99}|xox[abeprs]-[\w-]{10,200}"  # Stripe, Slack
    r"|npm_[0-9A-Za-z]{36}|pypi-AgE[\w-]{50,250}|dckr_pat_[\w-]{27}"  # npm, PyPI, Docker
    r"|SG\.[\w-]{22}\.[\w-]{43}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|whsec_[0-9A-Za-z+/]{32,64}"  # SendGrid, Shopify
    r"|ya29\.[\w-]{50,500}|do[opr]_v1_[0-9a-f]{64}|glsa_\w{32,60}"  # Google OAuth, DigitalOcean, Grafana
    r"|eyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{10,1000}"  # JSON web tokens (RFC 7519)
    r")(?![\w-])"
    r"|-----BEGIN (?:[A-Z]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----[^-]{1,20000}"
    r"-----END (?:[A-Z]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
    re.ASCII,
)


def emails(text: str) -> tuple[str, int]:
    """Replace e-mail addresses by ``[EMAIL]``."""
    return _EMAIL.subn("[EMAIL]", text) if "@" in text else (text, 0)


def phones(text: str) -> tuple[str, int]:
    """Replace telephone numbers, Chinese, North American and international, by ``[PHONE]``."""
    return _PHONE.subn("[PHONE]", text)


def id_numbers(text: str) -> tuple[str, int]:
    """Replace Chinese identity numbers (GB 11643-1999) whose check digit is right by ``[ID]``."""
    return _replace_if(_ID_NUMBER, _is_id_number, "[ID]", text)


def ip_addresses(text: str) -> tuple[str, int]:
    """Replace IPv4 and IPv6 addresses by ``[IP]``."""
    return _replace_if(_IP_ADDRESS, _is_ip_address, "[IP]", text)


def secrets(text: str) -> tuple[str, int]:
    """Replace keys and tokens of common services and private keys by ``[SECRET]``."""
    return _SECRET.subn("[SECRET]", text)


def _replace_if(
    pattern: re.Pattern[str], is_one: Callable[[str], bool], placeholder: str, text: str
) -> tuple[str, int]:
    changed = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal changed
        if not is_one(match[0]):
            return match[0]
        changed += 1
        return placeholder

    return pattern.sub(replace, text), changed


def _is_id_number(number: str) -> bool:
    """Tell whether the last character is the check digit (ISO 7064, MOD 11-2)."""
    total = sum(weight * int(digit) for weight, digit in zip(_ID_WEIGHTS, number[:17], strict=True))
    return number[17].upper() == _ID_CHECKS[total % 11]


def _is_ip_address(text: str) -> bool:
    """Tell whether it is an address, and no name of C++ such as ``a::b``, which has no digit."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_unspecified or text.startswith("::") or not any(map(str.isdigit, text)))
