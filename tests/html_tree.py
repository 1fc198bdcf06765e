"""A strict reader of HTML for tests: every element closed in order, nothing fetched, no handler; returns the tree."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "meta"}
FETCHING = {"script", "link", "img", "iframe", "object", "embed", "base", "form"}


@dataclass
class Node:
    name: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list["Node | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, name: str, **attributes: str) -> list["Node"]:
        """Return the elements of a name below this one; ``class_`` names one of their classes."""
        found = [node for child in self.children if isinstance(child, Node) for node in child.all(name, **attributes)]
        return [self, *found] if self.name == name and self._has(attributes) else found

    def _has(self, wanted: dict[str, str]) -> bool:
        return all(
            value in (self.attributes.get(key.rstrip("_")) or "").split() if key == "class_" else
            self.attributes.get(key) == value
            for key, value in wanted.items()
        )  # fmt: skip


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("")
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        assert tag not in FETCHING, tag
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {attrs}"
        assert not [k for k, v in attrs if k.startswith("on") or k in {"src", "href"}], attrs
        node = Node(tag, dict(attrs))
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_endtag(self, tag):
        assert self.open.pop().name == tag

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read_html(page: str) -> Node:
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == [reader.root], "not closed"
    return reader.root
