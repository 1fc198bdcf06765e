"""Rules that run on request: before and after, worked out by hand; each is stable under a second cleaning."""

import pytest

from mrprep.document import Document, Place
from mrprep.stages.clean import Options, clean

PLACE = Place("s", b"a.txt", 0, 1)
AWS = "AKIA" + "ABCDEFGHIJKLMNOP"
GITHUB = "ghp_" + "a1B2" * 9
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".SflKxwRJSMeKKF2QT4fwpM"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc+/=\n-----END RSA PRIVATE KEY-----"
OTHERS = (
    "npm_" + "a1B2" * 9,
    "pypi-AgEIcHlwaS5vcmc" + "a1B-" * 16,
    "dckr_pat_" + "a1_" * 9,
    "SG." + "a" * 22 + "." + "b-" * 21 + "c",
    "shpat_" + "0aF9" * 8,
    "whsec_" + "a1B2" * 8,
    "ya29." + "a1B_" * 20,
    "dop_v1_" + "0a9f" * 16,
    "glsa_" + "a1B2" * 10,
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOYBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
)

TABLE = [
    ("replacement", "a\ufffd\ufffdb\ufffd", "ab", 2),
    ("private_use", "径\ue6a1\uf8ff\U000f0001x", "径x", 1),
    ("half_width", "价格：１（含税），…", "价格:1(含税),…", 5),
    ("html_entities", "a &lt; b &amp;amp;nbsp; &#20013;&#x6587; &unknown; AT&T", "a < b \xa0 中文 &unknown; AT&T", 5),
    ("html_tags", "<p>一<b>二</b><br/>三</p>", "一二\n三", 5),
    ("html_tags", '<script type="a">var x = "<p>";</script>正<!DOCTYPE html>文', "正文", 2),
    ("html_tags", "a < b and List<String> x; <T>", "a < b and List<String> x; <T>", 0),
    ("urls", "见 https://a.cn/b?c=d#e。又 www.x.org/y，好", "见 [URL]。又 [URL]，好", 2),
    ("emails", "写信给 li.lei+x@mail.example.com.cn。 a@b", "写信给 [EMAIL]。 a@b", 1),
    ("phones", "13812345678 或 +86 138-1234-5678，010-62345678", "[PHONE] 或 [PHONE]，[PHONE]", 3),
    ("phones", "(212) 155-0123; +44 20 7946 0958", "(212) 155-0123; [PHONE]", 1),
    ("phones", "(212) 555-2123", "[PHONE]", 1),
    ("phones", "(010)62345678，(0755) 12345678", "[PHONE]，[PHONE]", 2),
    (
        "phones",
        "订单 9138123456780 号，1987-2001 年，3.14159265358",
        "订单 9138123456780 号，1987-2001 年，3.14159265358",
        0,
    ),
    ("id_numbers", "11010519491231002X 110105194912310021", "[ID] 110105194912310021", 1),
    ("ip_addresses", "10.0.0.255 256.1.1.1 1.2.3 1.2.3.4.5", "[IP] 256.1.1.1 1.2.3 1.2.3.4.5", 1),
    ("ip_addresses", "2001:db8::8a2e:370:7334 12:30:45 std::vector", "[IP] 12:30:45 std::vector", 1),
    ("ip_addresses", "http://10.0.0.1:8080/ 10.0.0.1: 2001:db8::1:", "http://[IP]:8080/ [IP]: 2001:db8::1:", 2),
    ("ip_addresses", "std::vector a::b, dead::beef", "std::vector a::b, dead::beef", 0),
    ("ip_addresses", "section 3.2.1.4 of, Section 3.2.1.4", "section 3.2.1.4 of, Section 3.2.1.4", 0),
    ("ip_addresses", "at 3.2.1.4, fe80::1, 2001:db8::1", "at [IP], [IP], [IP]", 3),
    ("urls", "(http://a.b/c). See http://a.b/c_(d).", "([URL]). See [URL].", 2),
    *(("secrets", f"token={secret}.", "token=[SECRET].", 1) for secret in OTHERS),
    ("secrets", f"key={AWS}; {GITHUB}", "key=[SECRET]; [SECRET]", 2),
    ("secrets", f"{JWT} sk-short", "[SECRET] sk-short", 1),
    ("secrets", f"a\n{PEM}\nb", "a\n[SECRET]\nb", 1),
]


@pytest.mark.parametrize(("rule", "before", "after", "places"), TABLE)
def test_rule_on_request(rule: str, before: str, after: str, places: int) -> None:
    document = cleaned(before, **{rule: True})
    assert document.text == after
    assert document.edits.get(rule, 0) == places
    assert cleaned(after, **{rule: True}).edits == {}


@pytest.mark.parametrize(("rule", "before"), [row[:2] for row in TABLE])
def test_off_by_default(rule: str, before: str) -> None:
    assert rule not in cleaned(before).edits


def test_nfkc_counts_what_it_folds() -> None:
    document = cleaned("价格：１２，ﬁne…é", unicode="nfkc")
    assert document.text == "价格:12,fine...é"
    assert document.edits == {"nfkc": 6}


def test_as_is_leaves_decomposed_text() -> None:
    assert cleaned("e\u0301", unicode="as-is").text == "e\u0301"


def cleaned(text: str, **options: object) -> Document:
    (document,) = clean([Document(PLACE, text)], Options.model_validate(options))
    assert isinstance(document, Document)
    return document
