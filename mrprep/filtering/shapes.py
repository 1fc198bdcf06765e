"""What machines write: logs and stack traces, mark-up and code that was left in, lists of links, rows of menus.

Texts with many of the marks that machines use are looked at one by one: their first `_CHARACTERS` characters are
searched for the shapes of such things, and the share of what is found decides.
"""

import re

import numpy as np

from mrprep.filtering.batch import Batch
from mrprep.filtering.classes import watched
from mrprep.filtering.complaint import Complaint, Rule, too_much
from mrprep.filtering.profile import Profile
from mrprep.filtering.prose import is_prose
from mrprep.filtering.tally import Column, Mask

_CHARACTERS, _LEAST = 3000, 150
_MACHINE_MARKS = watched(":/[]{}=\"();_#\\%|<>&'-")
_MARKED, _MARKED_CODE, _MARKED_PROSE = 0.045, 0.08, 0.2
"""Shares of such marks from which on logs and links, mark-up, and mark-up in prose are looked for."""
_DATE = r"\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}"
_CLOCK = r"\d{1,2}:\d{2}:\d{2}"
_LEVEL = r"(?:INFO|WARN(?:ING)?|ERROR|ERR|DEBUG|TRACE|FATAL|NOTICE|CRITICAL|SEVERE|VERBOSE)"
_LOG = re.compile(
    rf"(?:\S+ )?[\[(<]?{_DATE}[T _-]{_CLOCK}"
    rf"|(?:\S+ )?[\[(]?{_CLOCK}[\].,) ]"
    rf"|[A-Z][a-z]{{2}} +\d{{1,2}} {_CLOCK}"
    rf"|[\[<(]?{_LEVEL}\b[\])>]?[:\s\[|-]|[VDIWEF]/\S+\(? *\d*\)?:|[IWEF]\d{{4}} "
    r"|\[ *\d+\.\d+\]|<\d+>|\d{10,13}[.\d]* "
    r"|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b.*[\"\[:]"
    r"|#\d+ +(?:0x|\S+ ?\(|/\S+\(\d+\))|0x[0-9a-f]{6,}|at [\w$.<>/]+ ?\(|at \S+ in \S+:line|at \S+:\d+:\d+"
    r"|File \"[^\"\n]+\", line \d+|Traceback \(most|goroutine \d+|Exception in thread|Caused by:|\.\.\. \d+ more"
    r"|(?:\w+\.)*\w+(?:Error|Exception|Warning)(?::|$)|\[\d+/\d+\] |\w+: \S+:\d+:|\S+\.\w{1,4}:\d+(?::\d+)?:"
    r"|(?:PHP )?(?:Warning|Notice|Fatal error|Parse error|Deprecated|Strict Standards): "
    r"|npm (?:WARN|ERR!)|(?:Get|Hit|Ign|Fetched):\d|(?:gcc|g\+\+|cc|clang) -|make\[\d+\]:"
    r"|[d-][rwxst-]{9}[.+]? +\d+|(?:GET|POST|PUT|HEAD|DELETE) /\S* (?:HTTP|\d{3})"
)
_STACK_LINE = re.compile(r"^ *File \"[^\"\n]+\", line \d+.*\n( {4}.*)$", re.MULTILINE)
_FENCED = re.compile(r"```.*?(?:```|\Z)|^\|.*\|$", re.DOTALL | re.MULTILINE)
_MIXED = 0.7
"""Share of mark-up that prose may hold."""
_LEAST_LINES = 5
_CLOCKS = re.compile(_CLOCK)
_CLOCK_EVERY = 160
_REMAINS = re.compile(
    r"\{\{.{0,200}?\}\}+|\{%.{0,200}?%\}|<[%?].{0,300}?[%?]>|[$#]\{[^{}\n]{0,80}\}"  # templates
    r"|\{\||\|\}|^\|[-+}].*$|^[|!].*(?:\|\||!!).*$|\[\[[^\[\]\n]{1,300}\]\]|'''?"  # wikitext
    r"|<ref[^<>]*>|</ref>|^=+ [^=\n]{1,60} =+$"
    r"|\[/?(?:url|b|i|u|img|color|size|font|quote|code|list|align|center|video|td|tr|table)\b[^\]\n]{0,120}\]"  # BBCode
    r"|</?[a-zA-Z!][^<>]{0,300}>|&(?:[a-zA-Z]{2,8}|#\d{1,6});"  # HTML
    r"|\\?\"[^\"\n]{0,80}\\?\"\s*:\s*(?:\\?\"[^\"\n]{0,300}\"|[-\d.eE]+|true|false|null|[\[{])[,}\]\s]*"  # JSON
    r"|function *\w*\([^()\n]{0,80}\) *\{|=> *\{|\b(?:var|let|const) \w+ *=[^;\n]{0,200};|\}[\s)}]*;"  # scripts
    r"|\$\([^()\n]{0,80}\)(?:\.\w+\()?|\b(?:document|window|console|jQuery|location|gtag|_\w+|Math|JSON)\.[\w.]+"
    r"|\b(?:if|for|while|switch) *\([^\n{;]{0,120}\) *\{|\breturn\b[^;\n]{0,80};|\b[\w.]+\([^()\n]{0,120}\);"
    r"|^\s*[\w#.:>,* @-]{1,80}\{[^{}]{0,400}\}|\b[a-z-]{3,30} ?: ?[^;{}\n]{1,80};"  # style sheets
    r"|(?:INSERT INTO|VALUES ?\(|CREATE TABLE|UPDATE `|SELECT \*).{0,300}?;|`\w+`,?"  # SQL
    r"|(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9A-Fa-f]{2}|&#x?[0-9a-fA-F]{2,6};|=[0-9A-F]{2}){2,}",  # escapes
    re.MULTILINE,
)
_LINK = re.compile(
    r"(?:^[ \t]*(?:[-*+]|\d+\.) )?!?\[[^\]\n]{0,200}\]\([^)\n]{0,300}\)(?: *[|·]| ?\n)?"
    r"|\[\d+\]: \S+|<?(?:https?://|www\.)[^\s<>\"')\]]+>?(?: *[|·]| ?\n)?",
    re.MULTILINE,
)
_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_BAR = re.compile(r" *(?:[|｜»›·•‹«]|>>|::|->|→| > | / | [-–—] )+ *")
_BARRED = watched("|｜»›>·•/:-–→—")
_LEAST_STRETCHES, _TITLE = 12, 80
_SHORT, _SHORT_WIDE = 30, 14
_ENDS = frozenset('.!?。！？；;，,”"')


def _may_be_written_by_machines(batch: Batch, _: float) -> Mask:
    long = batch.sizes >= _LEAST
    return long & ~batch.once(is_prose) & (batch.once(_machine_marks) > _MARKED * batch.inked)


def _may_hold_remains(batch: Batch, _: float) -> Mask:
    least = np.where(batch.once(is_prose), _MARKED_PROSE, _MARKED_CODE)
    return (batch.sizes >= _LEAST) & (batch.once(_machine_marks) > least * batch.inked)


def _may_hold_links(batch: Batch, _: float) -> Mask:
    marked = batch.once(_machine_marks) > _MARKED_CODE * batch.inked
    return marked & (batch.sizes >= _LEAST) & ~batch.once(is_prose)


def _machine_marks(batch: Batch) -> Column:
    return batch.of(*_MACHINE_MARKS)


def _log(profile: Profile, most: float) -> Complaint | None:
    head = profile.sample[:_CHARACTERS]
    lines = [line for line in map(str.strip, head.split("\n")) if line]
    logged = sum(len(line) for line in lines if _LOG.match(line))
    logged += sum(len(line.strip()) for line in _STACK_LINE.findall(head))
    clocks = len(_CLOCKS.findall(head)) * _CLOCK_EVERY if len(lines) < _LEAST_LINES else 0
    return too_much("log", "lines of logs and traces", max(logged, clocks) / max(1, sum(map(len, lines))), most)


def _remains(profile: Profile, most: float) -> Complaint | None:
    head = profile.sample[:_CHARACTERS]
    found = sum(match.end() - match.start() for match in _REMAINS.finditer(_FENCED.sub("", head)))
    least = max(most, _MIXED) if profile.number(lambda batch: batch.once(is_prose)) else most
    return too_much("remains", "left of mark-up and code", found / max(1, len(head)), least)


def _links(profile: Profile, most: float) -> Complaint | None:
    head = profile.sample[:_CHARACTERS]
    if len(_HEADING.findall(head)) > 1:
        return None
    found = sum(match.end() - match.start() for match in _LINK.finditer(head))
    return too_much("links", "links and addresses", found / max(1, len(head)), most)


def _may_be_barred(batch: Batch, _: float) -> Mask:
    bars = batch.of(*_BARRED)
    return (bars * 40 >= batch.inked) & (bars >= _LEAST_STRETCHES) & ~batch.once(is_prose)


def _barred(profile: Profile, most: float) -> Complaint | None:
    head = profile.sample[:_CHARACTERS]
    lines = [line.strip() for line in head.split("\n")]
    barred = [_BAR.split(line) for line in lines if not line.startswith("|")]
    inside = [[part for part in parts if part] for parts in barred if len(parts) >= 3]
    longest = _SHORT_WIDE if profile.wide * 2 > profile.inked else _SHORT
    pieces = count = 0
    for parts in filter(None, inside):
        short = [part for part in parts if len(part) <= longest and part[-1] not in _ENDS]
        pieces += len(short)
        row = (
            len(short) * 4 >= len(parts) * 3 and max(map(len, parts)) <= _TITLE
        )  # the whole of it: a trail of crumbs that ends in a title
        count += sum(map(len, parts if row else short))
    if pieces < _LEAST_STRETCHES:
        return None
    share = count / max(1, sum(len("".join(parts)) for parts in barred))
    return too_much("menu", "short pieces between bars", share, most)


LOG = Rule(_may_be_written_by_machines, _log)
"""Lines of logs, stack traces, builds and listings, counted in characters."""
REMAINS = Rule(_may_hold_remains, _remains)
"""Templates, wikitext, BBCode, HTML, JSON, scripts, style sheets, SQL, escapes, counted in characters."""
LINKS = Rule(_may_hold_links, _links)
"""Markdown links and addresses, counted in characters."""
BARRED = Rule(_may_be_barred, _barred)
"""Short pieces of lines between bars, arrows and the like, counted in characters; tables of Markdown are none."""
