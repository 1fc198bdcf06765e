"""Rules that look up packaged statistics and shapes: garbage written by hand, and columns computed the slow way."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from test_filter_corpora import texts
from test_filter_rules import CHINESE, ENGLISH, KEPT, judged

from mrprep.filtering.batch import Batch
from mrprep.filtering.han import ideographs_of
from mrprep.filtering.model import ENGLISH as KNOWN
from mrprep.filtering.model import FOREIGN, SMALL, Bits, hash_pairs, hash_triples, hash_word_pairs, hash_words, model
from mrprep.filtering.words import order_at_a_glance, small_share, word_order, words_of

LAW = (
    "第一条为了规范合同的订立和履行，保护当事人的合法权益，维护社会经济秩序，根据宪法，制定本法。第二条本法所称合同是"
    "平等主体之间设立、变更、终止民事权利义务关系的协议。第三条当事人的法律地位平等，一方不得将自己的意志强加给另一方。"
    "第四条当事人依法享有自愿订立合同的权利，任何单位和个人不得非法干预。第五条当事人应当遵循公平原则确定各方的权利和义务。"
)
READING = (
    "the committee met in the morning and agreed that the report should be sent to the members before the end of the "
    "week, because some of them had not seen the figures which were to be discussed with the minister in april. "
)
CITIES = ("Leeds", "Derby", "Truro", "Ripon", "Wells", "Exeter", "Durham", "Oxford", "Lincoln", "Bristol")
NAMES = ("open", "read", "write", "flush", "close", "poll", "bind", "accept", "send", "join")
GARBAGE = {
    "bad recognition": (
        "tlie cornrnittee rnet in tbe rnorning aud agreed tbat the reporl shonld be seut to the rnembers hefore "
        "the eud "
        "of tlie week, hecause sorne of thern liad not seeu the figures whicb were to be discnssed witli tbe minisler. "
        "it was saicl that the rnoney conld be fouud and tbe work begnn in the antumn witli the belp of the conncil.",
        "broken-words",
    ),
    "letters apart": (" ".join(READING * 2), "broken-words few-words"),
    "letters shuffled": (
        "hte tcmomeeit mte ni het gnimron dna agered atth eht ptrore sdulho eb nste ot hte sbemmer fboeer hte "
        "den fo eth "
        "kewe, sucebea emos fo mthe dha nto nese het sregfui hhcwi eewr ot be dcsudsies iwht hte tnmsieri in alrpi. ",
        "broken-words filler gibberish",
    ),
    "backwards": (
        "eht eettimmoc tem ni eht gninrom dna deerga taht eht troper dluohs eb tnes ot eht srebmem erofeb eht "
        "dne fo eht "
        "keew esuaceb emos fo meht dah ton nees eht serugif hcihw erew ot eb dessucsid htiw eht retsinim ni lirpa. ",
        "filler gibberish",
    ),
    "keys hit at random": (
        "asdf jklh qwpeo zxmcnv bqwz ghfjdk slpq wzxv nmbv kjhg trwq plkj mnvb xzcq hjkw vbnq " * 3,
        "",
    ),
    "filler": (
        "Vestibulum ante faucibus orci luctus et ultrices posuere cubilia curae. Pellentesque habitant morbi tristique "
        "senectus et netus et malesuada fames ac turpis egestas. Maecenas rutrum nibh sapien, ornare justo "
        "mattis eget. "
        "Curabitur blandit tempus porttitor, donec ullamcorper nulla non metus auctor fringilla, sed posuere. ",
        "filler",
    ),
    "pinyin": (
        "jin tian tian qi hen hao wo men qu gong yuan wan hai zi men zai cao di shang pao lai pao qu lao ren men "
        "zuo zai "
        "chang yi shang liao tian fang feng zheng de ren hen duo dao chu dou shi huan le de xiao sheng wo men "
        "wan le yi "
        "ge xia wu cai hui jia wan shang chi le jiao zi",
        "filler",
    ),
    "key words": (
        "mortgage, insurance, laptop battery, hotel booking, running shoes, kitchen cabinets, dental implants, forex "
        "broker, wedding dresses, garage doors, solar panels, credit repair, vacation rental, weight loss, car hire, "
        "pest control, tax lawyer, office chairs, carpet cleaning, web hosting, phone cases, dog training, tile "
        "roofing, "
        "gold coins, golf clubs, baby strollers, pool heaters, window blinds, piano lessons, travel visa",
        "keywords word-salad",
    ),
    "chinese key words": (
        "北京搬家公司，上海装修报价，广州空调维修，深圳注册公司，成都旅游攻略，杭州婚纱摄影，武汉汽车租赁，南京英语培训，"
        "天津钢材批发，重庆火锅加盟，西安会计培训，苏州机械设备，青岛海鲜市场，大连轮胎价格，宁波模具加工，厦门广告设计，"
        "长沙家电清洗，郑州服装批发，济南电脑维修，沈阳二手汽车",
        "keywords",
    ),
    "stuffed": (
        "Cheap umbrella store: our umbrella is the best umbrella, an umbrella for rain and an umbrella for sun. Buy an "
        "umbrella today, every umbrella ships free, and the umbrella you buy is the umbrella you love. Umbrella sale! "
        "If an umbrella breaks, the umbrella comes back to the umbrella store for a new umbrella. " * 2,
        "stuffed",
    ),
    "log": (
        "2024-03-01 10:22:31,120 INFO [main] server started on port 8080\n"
        "2024-03-01 10:22:35,004 WARN [pool-1] connection refused, retrying\n"
        "2024-03-01 10:22:36,771 ERROR [pool-1] gave up after 3 attempts\n" * 4,
        "log repeated-lines",
    ),
    "stack trace": (
        "Exception in thread main java.lang.IllegalStateException: closed\n"
        + "".join(f"\tat org.example.net.Channel.{name}(Channel.java:{at})\n" for at, name in enumerate(NAMES)),
        "log",
    ),
    "access log": (
        "".join(
            f'10.0.{at}.7 - - [01/Mar/2024:10:22:{at + 10} +0800] "GET /{name}.html HTTP/1.1" 200 {at * 97}\n'
            for at, name in enumerate(NAMES)
        ),
        "log",
    ),
    "wikitext": (
        "{{Infobox settlement\n| name = {{lang|de|Ulm}}\n| image = Ulm.jpg\n}}\n[[File:Ulm.jpg|thumb|200px]]\n"
        '{| class="wikitable"\n|-\n! year !! people\n|-\n| 1990 || [[census]]\n|}\n[[Category:Towns]] '
        "[[Category:Danube]]\n",
        "remains",
    ),
    "json": (
        '{"id": 17, "title": "lamp", "tags": ["home", "light"], "price": {"amount": 12.5, "currency": "EUR"}, '
        '"stock": true, "next": null, "vendor": {"name": "Lumen", "city": "Graz", "rating": 4.5}}\n' * 2,
        "remains",
    ),
    "templates": (
        "{{ user.name }} {% if cart %} {{ cart.total|money }} {% endif %} ${price} {{#each items}}\n" * 5,
        "",
    ),
    "script": (
        "(function(){var s=document.createElement('script'); s.src='//stats.example.com/a.js'; "
        "document.head.appendChild(s); window.dataLayer = window.dataLayer || []; gtag('config', 'UA-1'); })();\n" * 2,
        "",
    ),
    "links": (
        "".join(f"* [Page {name}](https://www.example.org/{name}/index.html)\n" for name in NAMES),
        "links",
    ),
    "breadcrumbs": (
        "Home > Garden > Tools > Spades\nHome > Garden > Seeds > Herbs\nHome > Kitchen > Pots > Lids\n" * 2,
        "",
    ),
    "shuffled chinese": ("", "shuffled"),
    "shuffled english": ("", "disordered"),
    "tags": ("", "disordered keywords word-salad"),
    "some letters lost": ("", "broken-words"),
    "each word again": (
        " ".join(f"{word} {word} {word}" for word in READING.split()),
        "echo repeated-ngrams few-words",
    ),
    "each ideograph again": ("".join(char * 2 for char in LAW), "echo"),
    "numbers change": (
        "".join(f"Ticket {at * 377} drew {at * 7} {at + 31} {at * 11 % 40} in the evening\n" for at in range(1, 20)),
        "moulded digits",
    ),
    "names change": (
        "".join(
            f"Hire a van in {name.title()} today, ask {name.title()} Vans for a price.\n" for name in (*NAMES, *CITIES)
        ),
        "moulded stuffed few-words",
    ),
    "questions": (
        "".join(
            f"{city}搬家多少钱？\n{city}哪里能修空调？\n" for city in ("北京", "上海", "广州", "武汉", "成都", "西安")
        ),
        "questions moulded",
    ),
    "specks": ("", "misread"),
    "parts": ("", "misread"),
    "gaps": ("", "misread"),
    "words between commas": ("，".join(re.findall("[^，。、]{4}", LAW) * 2), "keywords"),
    "cases": ("hGtR sKjW qLpMz xBnVc tYuIo pQwEr aSdFg zXcVb nMlKj hGfDs rEwQa zXsWe dCvFr tGbNh yUjMk iOlPq" * 2, ""),
    "digits among letters": ("a7f3k 9d2m4 x8z1q 5r6t2 w3e9u 1b7n4 k2j8h 6g5f3 q9w1e 4r7t2 y8u3i 5o6p1 a2s9d " * 3, ""),
    "hangul and kana": (
        "뺷딠ゔえキ뢪뉩얮뫴쯼ざ뺆ぶゖプ핇껅ぼぇホすな퐎ピェ멥ょ쁬ぞ넕ポヷ홯ほぱつ폵マ쐦む샣ずざぢィゔ뗝ダヌ" * 3,
        "switches",
    ),
    "cyrillic at random": (
        "трздкюбнпш пъгэ цгхъ вфк мфдззскнд фщювржц озюшвайшйф хдксппщбтобъ сюзришлчнл шъхцз "
        "сючьымшще ушжь лзлярьшэхткй "
        "финмйупбе ащртъйдющ лиьшерзцьон юдшжвшфнй жйххы шьймх зцж еэив нбебпсй бпыизхдк юэццъ "
        "внжтпучб щвгх яэжъ кыощ ",
        "gibberish",
    ),
    "koi8 as windows-1251": (
        "уФБФШС ДЧБДГБФШ ЧФПТБС. лБЦДЩК ЮЕМПЧЕЛ ЙНЕЕФ РТБЧП ОБ УПГЙБМШОПЕ ПВЕУРЕЮЕОЙЕ. оЙЛФП ОЕ НПЦЕФ ВЩФШ МЙЫЕО. "
        "чУЕ МАДЙ ТПЦДБАФУС УЧПВПДОЩНЙ. пОЙ ОБДЕМЕОЩ ТБЪХНПН Й УПЧЕУФША.",
        "mojibake",
    ),
    "boxes in words": (
        "ben□at■ t□e canopy o□ oi■s, my chi▯dren, wel□ome to ■he com□unity of yo□r race and na■ure " * 2,
        "garbled",
    ),
    "piled marks": (
        "".join(char + "\u0316\u0329\u0342\u0301" * char.isalpha() for char in READING),
        "garbled long-words",
    ),
    "unassigned": ("".join(char if at % 3 else chr(0x12600 + at) for at, char in enumerate(READING)), "garbled"),
    "cuneiform among symbols": ("𒀸✈𒃷⤚ꇉ⛖⍭◉𒆁⦋🀂□𒉖⛀⭌ꊀ𓂅𒄫𒅀⪇ꇙ❝⍖ꆎ🆪⛏𒁞✮⛓▿♟🂨🂾ꂖ☺" * 3, "symbols"),
    "an array of bytes": ("static char img[] = {\n" + "0x89, 0x63, 0x18, 0x41, 0x50, 0xc4,\n" * 12 + "};\n", ""),
    "uuencode": (
        "".join(f"M{at}EO^KKJN:'@:/S(N9JB[7A;ZCW_^0I^:_-%M%+8:>%D^=U_G:?V!Y=7T.{at + 10}\n" for at in range(8)),
        "",
    ),
}
GARBAGE["shuffled english"] = (
    " ".join(np.random.default_rng(3).permutation((READING + ENGLISH).split())),
    "disordered few-words",
)
GARBAGE["tags"] = (
    " ".join(f"#{word}" for word in np.random.default_rng(3).permutation((READING + ENGLISH).split())),
    "disordered keywords",
)
GARBAGE["some letters lost"] = (
    (READING * 2)
    .replace("morning", "mor0ing")
    .replace("report", "rep|rt")
    .replace("figures", "f1gures")
    .replace("april", "4pril"),
    "broken-words",
)
GARBAGE["specks"] = ("".join(char + "|" * (at % 40 == 0) for at, char in enumerate(LAW)), "misread")
GARBAGE["parts"] = ("".join("丨" if at % 40 == 1 else char for at, char in enumerate(LAW)), "misread")
GARBAGE["gaps"] = ("".join(char + " " * (at % 5 == 0) for at, char in enumerate(LAW)), "misread")
GARBAGE["shuffled chinese"] = ("".join(np.random.default_rng(3).permutation(list(LAW))), "shuffled keywords misread")


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_goes(kind: str) -> None:
    text, reasons = GARBAGE[kind]
    reason = judged(text)
    assert reason != "kept"
    assert not reasons or reason in reasons.split()


CLEAN = {
    "contents": "目录\n" + "".join(f"第{at + 1}章 {LAW[at * 9 : at * 9 + 9]} …… {at * 9 + 1}\n" for at in range(11)),
    "verse without marks": (
        "他们说故乡是一个地方\n我觉得更像一个时辰\n大约是在傍晚六点\n灶里的柴刚刚烧红\n有人站在坡上喊名字\n那名字拖得很长\n"
        "越过了水田和竹林\n落在一个孩子的肩上\n后来我走了很远的路\n再没有人那样喊我\n只是每到那个时辰\n我还会停下来听一听\n"
    ),
    "song without marks": (
        "昨夜的雨下了很久\n我在窗前等一封信\n你说过春天就回来\n可是桥边的花开了\n又一朵一朵地落了\n"
        "卖糖的人还在街口\n他不认得我了\n我把伞靠在门后\n听水从屋檐上滴\n"
        "像你走的那个早上\n"
    ),
    "subtitles": (
        "Did you see him at the door\nHe was there for an hour\nI thought that he had gone\nNot before the rain\n"
        "What did he want from you\nA key to the house\nAnd did you give it to him\nI said it was lost\n"
        "He did not believe me\nThen he will be back\nNot in the dark he will not\n"
    ),
    "mathematics": (
        "Let G be a finite group and let p be a prime with p dividing the order n of G. We show that G has a g "
        "of order p. If x and y are in G, write x y for the product. Let S be the set of all a in G with a not in H. "
        "For each a in S there is a b in S with a b in H, and so a and b are in the same class. Then p divides n, and "
        "the number k of fixed points is at least p.\n"
    ),
    "table between sentences": (
        "The sizes of the four boats are in the table below.\n\n"
        "| boat | length | width |\n|---|---|---|\n| Ida | 9 | 3 |\n"
        "| Nora | 12 | 4 |\n| Tern | 7 | 2 |\n\nThe longest of them is also the widest.\n"
    ),
    "set with blanks": " ".join(LAW),
    "questions and answers": "".join(
        f"Can I {name} a file twice?\nYes, {name} waits for the one before, at most {len(name) * 7} seconds.\n"
        for name in NAMES
    ),
    "law": LAW,
    "english": READING * 2,
    "verse": (
        "白日依山尽，黄河入海流。欲穷千里目，更上一层楼。红豆生南国，春来发几枝。愿君多采撷，此物最相思。千山鸟飞绝，"
        "万径人踪灭。孤舟蓑笠翁，独钓寒江雪。空山不见人，但闻人语响。返景入深林，复照青苔上。松下问童子，言师采药去。"
        "只在此山中，云深不知处。春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。"
    ),
    "half german": (
        READING + "Der Ausschuss trat am Morgen zusammen und beschloss, dass der Bericht vor dem Ende der "
        "Woche an die Mitglieder gesandt werden solle, weil einige von ihnen die Zahlen nicht kannten. "
    ),
    "code in a manual": (
        "The function is called with the name of the file and returns the number of lines that were read from it. If "
        "the file is not there, an error is raised, and the caller has to decide what is to be done with it.\n\n"
        "```js\nfunction count(name) { return read(name).length; }\nvar lines = count('a.txt');\n```\n\n"
        "An example of the settings, which are kept in the folder of the user:\n\n"
        '```json\n{"name": "a", "lines": 3, "open": true}\n```\n'
    ),
}


@pytest.mark.parametrize("kind", CLEAN)
def test_text_stays(kind: str) -> None:
    assert judged(CLEAN[kind]) == "kept"


@pytest.mark.parametrize(
    "text", ["qwpeo zxmcnv bqwz ghfjdk slpq", "京维公旅纱汽英钢火会机海", "{{ user.name }} [[page]]", "GET /a b c"]
)
def test_what_is_too_short_to_judge_stays(text: str) -> None:
    assert judged(text, min_units=2) == "kept"


def some_texts(shared: Path) -> Iterator[str]:
    yield from (text for text, _ in GARBAGE.values())
    yield from (*CLEAN.values(), *KEPT.values(), "", "Ünïcode wörds, IT'S a naïve_name x1y " * 9)
    yield from (text[:2500] for text in list(texts(shared / "corpora" / "en_reuters"))[:60])
    yield from (text[:1400] for text in list(texts(shared / "corpora" / "mixfolder" / "wiki"))[:60])


def hashed(word: str) -> int:
    data = word.encode()[:16].ljust(16, b"\0")
    head, tail = np.frombuffer(data, "<u8")
    return int(hash_words(np.array([head]), np.array([tail]))[0])


def test_words_counted_the_slow_way(shared: Path) -> None:
    given = list(some_texts(shared))
    batch = Batch(given, [False] * len(given))
    words, flags = words_of(batch), model().words
    asked = 0
    for index, text in enumerate(given):
        if len(text.encode()) > 3000 or not words.count[index]:
            continue
        asked += 1
        found = list(re.finditer("[a-zA-Z\u0080-\U0010ffff]+", text))
        lowered = [re.sub("[A-Z]", lambda match: match[0].lower(), match[0]) for match in found]
        assert words.count[index] == len(found)
        assert words.small[index] == sum(bool(flags[hashed(word)] & SMALL) for word in lowered)
        fit = [
            match[0].isascii()
            and len(match[0]) >= 3
            and match[0][0].islower()
            and (" " + text)[match.start()] in " \n\t(\"'"
            for match in found
        ]
        unknown = [
            good and not flags[hashed(word)] & (KNOWN | FOREIGN) for good, word in zip(fit, lowered, strict=True)
        ]
        assert (words.judged[index], words.unknown[index]) == (sum(fit), sum(unknown))
        turns = [b and not a for (a, b), (c, d) in zip(pairwise(unknown), pairwise(fit), strict=True) if c and d]
        assert (words.known_or_unknown[index], words.unknown_after_known[index]) == (len(turns), sum(turns))
        assert words.single[index] == sum(len(word.encode()) == 1 for word in lowered)
    assert asked > 60


def test_ideographs_counted_the_slow_way(shared: Path) -> None:
    given = [CHINESE * 2, LAW, *(text for text in some_texts(shared) if 100 < len(text) < 1500)]
    batch = Batch(given, [False] * len(given))
    han, known = ideographs_of(batch), model()
    asked = 0
    for index, text in enumerate(given):
        if not han.count[index]:
            continue
        asked += 1
        folded = [int(known.fold[min(ord(char), 0xFFFF)]) for char in text]
        for apart, share in ((1, han.near[index]), (4, han.far[index])):
            both = [(a, b) for a, b in zip(folded, folded[apart:], strict=False) if a and b]
            if not both:
                continue
            hits = [
                known.pairs.hold(hash_pairs(np.array([a], np.uint16), np.array([b], np.uint16)))[0] for a, b in both
            ]
            expected = 0 if apart == 4 and han.near[index] >= 0.85 else sum(hits) / len(hits)
            assert share == pytest.approx(expected)
        assert han.count[index] == sum(code > 0 for code in folded)
    assert asked > 20


def test_bits_are_those_that_numpy_unpacks() -> None:
    packed = np.random.default_rng(1).integers(0, 256, 512, np.uint8)
    hashes = np.random.default_rng(2).permutation(4096)
    for kind in (np.int64, np.uint32):
        assert Bits(packed).hold(hashes.astype(kind)).tolist() == np.unpackbits(packed)[hashes].astype(bool).tolist()


def test_triples_specks_and_gaps_by_hand() -> None:
    text = LAW[:120].replace("，", "").replace("。", "") + "合 同的|订立丨和"
    batch = Batch([text], [False])
    han, known = ideographs_of(batch), model()
    folded = [int(known.fold[ord(char)]) for char in text]

    def fits(*codes: int) -> bool:
        given = [np.array([code], np.uint16) for code in codes]
        held = known.pairs.hold(hash_pairs(*given)) if len(given) == 2 else known.triples.hold(hash_triples(*given))
        return bool(held[0])

    runs = [run for run in zip(folded, folded[1:], folded[2:], strict=False) if all(run)]
    both = [run for run in runs if fits(*run[:2]) and fits(*run[1:])]
    assert han.both[0] == pytest.approx(len(both) / len(runs))
    assert han.triples[0] == pytest.approx(sum(fits(*run) for run in both) / len(both))
    assert han.gaps[0] == pytest.approx(1 / han.count[0])
    assert han.specks[0] == pytest.approx((2 - 2) / han.count[0])


def test_order_of_words_is_lost_by_shuffling() -> None:
    words = (READING * 3).split()
    batch = Batch([" ".join(words), " ".join(np.random.default_rng(1).permutation(words))], [False, False])
    assert word_order(batch, 0) > 0.3 > 0.15 > abs(word_order(batch, 1))


def test_order_at_a_glance_by_hand() -> None:
    texts = ["nothing", READING * 2, "one two", " ".join(reversed((READING * 2).split())), READING * 3]
    batch = Batch(texts, [False] * len(texts))
    glance = order_at_a_glance(batch, np.array([False, True, False, True, True]))
    words, known = words_of(batch), model().word_pairs
    for index in (1, 3, 4):
        hashes = words.hashes[words.starts[index] : words.starts[index + 1]].tolist()
        near, far = (
            np.mean(
                [known.hold(hash_word_pairs(*np.array([[a], [b]])))[0] for a, b in zip(hashes, later, strict=False)]
            )
            for later in (hashes[1:], hashes[4:])
        )
        assert glance[index] == pytest.approx((near - far) / (1.001 - far))


def test_traditional_and_simplified_are_one() -> None:
    batch = Batch(["我們的國家憲法規定人民權利義務關係" * 9, "我们的国家宪法规定人民权利义务关系" * 9], [False, False])
    han = ideographs_of(batch)
    assert han.near[0] == han.near[1] > 0.7


def test_small_words_of_a_language_and_foreign_ones() -> None:
    batch = Batch([READING, "Der Hund und die Katze sind in dem Haus, das wir von den Eltern haben."], [False, False])
    assert small_share(batch, 0) > 0.4
    assert small_share(batch, 1) > 0.4
    assert small_share(batch, 1, foreign=True) > 0.4 > 0.1 > small_share(batch, 0, foreign=True)
    assert ENGLISH


def test_numbers_stand_in_the_detail() -> None:
    from mrprep.document import Document, Dropped, Place
    from mrprep.stages.filter import Options, filter_documents

    (item,) = filter_documents([Document(Place("s", b"a", 0, 1), GARBAGE["chinese key words"][0])], Options())
    assert isinstance(item, Dropped)
    assert re.fullmatch(r"\d\.\d% of the ideographs are small words, at least [58]\.[58]% wanted", item.detail)
