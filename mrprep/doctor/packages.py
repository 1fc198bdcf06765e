"""Python and the packages that it runs, against what the metadata of mrprep asks for."""

import platform
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from mrprep.doctor.reading import Reading, judge

_MINDFORMERS = {"2.0": "2.10", "2.1": "2.11"}
"""mindformers -> the MindSpore it is made for."""
_DATASETS_ONLY = "1.8"
"""Made for an older MindSpore; its dataset classes run beside 2.10 all the same."""


def readings() -> Iterator[Reading]:
    """Read the versions of Python, of every package that mrprep needs, and of mindformers where it is installed."""
    ours = metadata.metadata("mrprep")
    yield _python(ours["Requires-Python"])
    for text in ours.get_all("Requires-Dist") or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield _package(requirement)
    yield from _mindformers()


def _python(wanted: str) -> Reading:
    found = platform.python_version()
    return judge("Python", found, wanted, SpecifierSet(wanted).contains(found), "python3.11 -m venv .venv")


def _package(requirement: Requirement) -> Reading:
    wanted = str(requirement.specifier) or "any"
    found = version(requirement.name)
    good = found is not None and requirement.specifier.contains(found, prereleases=True)
    return judge(requirement.name, found or "not installed", wanted, good, f"pip install '{requirement}'")


def _mindformers() -> Iterator[Reading]:
    found, mindspore = version("mindformers"), version("mindspore")
    if found is None or mindspore is None:
        return
    pair = _MINDFORMERS.get(_minor(found), "")
    if _minor(found) == _DATASETS_ONLY:
        yield Reading("mindformers", found, "2.0 with MindSpore 2.10", "note", "reads shards here; train with 2.0")
        return
    mend = next(
        (f"pip install 'mindformers=={own}.*'" for own, other in _MINDFORMERS.items() if other == _minor(mindspore)), ""
    )
    yield judge(
        "mindformers", found, f"the one for MindSpore {_minor(mindspore)}", pair == _minor(mindspore), mend, "note"
    )


def version(package: str) -> str | None:
    """Return the installed version of a package, None without one."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _minor(text: str) -> str:
    return ".".join(text.split(".")[:2])
