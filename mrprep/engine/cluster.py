"""Run calls on the machines of a Ray cluster that share a file system: the pool's interface, and its promises.

Ray carries a function's name, a unit and a path to a machine, and a word back; whatever a call makes lies on the
shared file system. So the memory of the machine that started does not grow with the build, and a machine that is
lost costs the units it was at, which others do again.
"""

import os
import pickle
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrprep import extras
from mrprep.engine import node
from mrprep.engine.executor import ATTEMPTS, WORKER_ENVIRONMENT, Call, Done
from mrprep.errors import MrprepError
from mrprep.printable import printable

LOSSES = 20
"""How often the machine under a call may be lost before the call is suspected of it."""
_LOOK = 5.0
"""Seconds between two looks at who is there."""
_LONGEST_GOODBYE = 20.0
_STARTS = 3
"""How often a Ray of our own is started: Ray gives up when a busy machine takes 30 s for it, or breaks."""
_VITAL = ("raylet", "gcs_server")
"""Processes of a Ray, as it calls them, that it does not start again itself."""
_LOOPBACK = "127.0.0.1"
_ONE_MACHINE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Has Ray, on Linux too, listen to 127.0.0.1 alone; else it takes that for the address the machine has outside."""
_STORE = 100 << 20
"""Bytes of Ray's store of objects on a machine of our own starting; nothing of ours goes into it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Where the machines are, and what they must have in common with this one."""

    address: str | None
    """Of a running cluster; None starts a Ray on this machine that listens to 127.0.0.1 alone."""
    jobs: int
    """Calls at a time; 0 for as many as there are processors."""
    versions: Mapping[str, str]
    """Package -> its version here."""
    seen: Mapping[str, int]
    """Some files of inputs and work -> their bytes, as seen here."""


class Cluster:
    """Runs calls on the machines of a Ray cluster, which is joined or started at the first use."""

    far = True

    def __init__(self, terms: Terms, say: Callable[[str], None]) -> None:
        self._terms, self._say = terms, say
        self._ray: Any = None
        self._remote: Any = None
        self._folder: str | None = None
        self._names: dict[str, str] = {}
        self._processors = 1
        self._looked = 0.0
        self._flying: dict[Any, int] = {}
        self._left = 1 if terms.address else _STARTS

    def run(self, calls: Sequence[Call], labels: Sequence[str]) -> Iterator[Done]:  # noqa: D102
        waiting = deque(range(len(calls)))
        deaths: Counter[tuple[int, str]] = Counter()
        if waiting:
            self._start()
        while waiting or self._flying:
            while waiting and len(self._flying) < self._window():
                index = waiting.popleft()
                self._flying[self._submit(calls[index])] = index
            done, _ = self._ray.wait(list(self._flying), timeout=_LOOK)
            if self._broken():
                waiting.extendleft(self._flying.values())
                self._start_anew()
                continue
            for reference in done:
                index = self._flying.pop(reference)
                death, result = self._outcome(reference)
                if not death:
                    yield index, result
                    continue
                deaths[index, death] += 1
                _refuse_deadly(deaths[index, death], death, labels[index])
                waiting.appendleft(index)
            self._look()

    def close(self) -> None:
        """Leave the cluster, or end one's own: the calls under way end with the program that asked for them.

        They are not cancelled before: Ray 2.60 aborts this process when a cancelled call returns all the same.
        """
        self._flying.clear()
        if self._ray is not None:
            with _own_sigterm():
                self._ray.shutdown()
            self._ray = None
        if self._folder:
            _delete(self._folder)

    def _start(self) -> None:
        """Join the cluster, or start one, and compare every machine with this one.

        Raises:
            MrprepError: Ray is not installed, there is no such cluster, it does not start, or a machine differs.
        """
        if self._ray is not None:
            return
        if not extras.has("ray"):
            raise MrprepError(f"--executor ray {extras.advice('ray')}")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not self._terms.address:
            os.environ |= _ONE_MACHINE
        import ray

        if self._terms.address:
            _refuse_silent(self._terms.address)
        ray.cloudpickle.register_pickle_by_value(node)
        self._ray = ray
        self._init(ray)
        self._remote = ray.remote(max_retries=0)(node.call_here)
        self._look()
        self._compare()

    def _broken(self) -> bool:
        """Return whether a Ray of our own has lost a process without which it never ends a call."""
        if self._terms.address:
            return False
        node = self._ray._private.worker._global_node
        return any(kind in _VITAL for kind, _ in node.dead_processes())

    def _start_anew(self) -> None:
        """Start a Ray of our own in place of a broken one.

        Raises:
            MrprepError: it was started too often before.
        """
        if not self._left:
            raise MrprepError(
                f"the Ray on this machine broke {_STARTS} times (its processes were killed, as when memory runs out): "
                "give fewer --jobs, or leave out --executor ray, and run the same command again"
            )
        self._say("ray: it broke, and is started anew; what was under way is done again")
        self.close()
        self._names, self._looked = {}, 0.0
        self._start()

    def _init(self, ray: Any) -> None:
        """Connect to the cluster; start one's own anew where Ray gives up."""
        arguments = self._arguments()
        while True:
            self._left -= 1
            try:
                with _own_sigterm():
                    ray.init(**arguments, logging_level="ERROR", runtime_env={"env_vars": WORKER_ENVIRONMENT})
            except Exception as error:  # Ray raises just that
                at = printable(self._terms.address or _LOOPBACK)
                said = printable(str(error).strip().partition("\n")[0], 300)
                if self._left <= 0:
                    raise MrprepError(f"no Ray cluster can be had at {at} ({said}): see docs/cluster.md") from None
                self._say(f"ray: did not start at {at} ({said}); once more")
                ray.shutdown()
            else:
                return

    def _arguments(self) -> dict[str, Any]:
        if self._terms.address:
            return {"address": self._terms.address}
        self._folder = tempfile.mkdtemp(prefix="mrprep-ray-")
        return {
            "address": "local",
            "num_cpus": self._terms.jobs or len(os.sched_getaffinity(0)),
            "_node_ip_address": _LOOPBACK,
            "_temp_dir": self._folder,
            "include_dashboard": False,
            "object_store_memory": _STORE,
        }

    def _compare(self) -> None:
        """Ask every machine whether it is fit, before the first call."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

        asked = [
            self._submit((_nothing, ()), num_cpus=0, scheduling_strategy=On(name, soft=False)) for name in self._names
        ]
        for reference in asked:
            while not self._ray.wait([reference], timeout=_LOOK)[0]:
                if self._broken():
                    return
            self._outcome(reference)
        names = ", ".join(sorted(self._names.values()))
        self._say(f"ray: {len(asked)} machines with {self._processors} processors ({names})")

    def _submit(self, call: Call, **where: Any) -> Any:
        terms = self._terms
        return self._remote.options(**where).remote(terms.versions, terms.seen, str(Path.cwd()), pickle.dumps(call))

    def _outcome(self, reference: Any) -> tuple[str, Any]:
        """Return what ended a call before it returned, the machine or its worker, or an empty text and its result.

        Raises:
            MrprepError: its machine is not fit.
            Exception: what the call has raised.
        """
        from ray import exceptions

        try:
            where, reason, result = self._ray.get(reference)
        except exceptions.RayTaskError as error:
            raise getattr(error, "cause", error) from None
        except (exceptions.NodeDiedError, exceptions.LocalRayletDiedError):
            return "machine", None
        except (exceptions.WorkerCrashedError, exceptions.OutOfMemoryError):
            return "worker", None
        if reason:
            raise MrprepError(f"{self._names.get(where, where)} {printable(reason, 400)}")
        return "", result

    def _window(self) -> int:
        """Return how many calls are under way: enough that a machine which is done has the next one at once."""
        return self._terms.jobs or 2 * self._processors

    def _look(self) -> None:
        """Say which machines have come and gone since the last look."""
        if time.monotonic() < self._looked + _LOOK:
            return
        there = {each["NodeID"]: each for each in self._ray.nodes() if each["Alive"] and each["Resources"].get("CPU")}
        first, before = not self._looked, self._names
        self._names = {name: _name(each) for name, each in there.items()}
        self._processors = sum(int(each["Resources"]["CPU"]) for each in there.values())
        self._looked = time.monotonic()
        for gone in before.keys() - there.keys():
            self._say(f"ray: {before[gone]} is lost; what it was at is done elsewhere")
        for new in () if first else there.keys() - before.keys():
            self._say(f"ray: {self._names[new]} has come")
        if before and not there:
            self._say("ray: no machine is left; waiting for one to come")


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep this process's answer to SIGTERM; Ray puts its own in place, in Python and, with a native stack, in C++."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
    try:
        yield
    except SystemExit:  # Ray's answer to it
        signal.signal(signal.SIGTERM, before)
        signal.raise_signal(signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _refuse_silent(address: str) -> None:
    """See that something answers at an address; Ray itself waits for minutes.

    Raises:
        MrprepError: nothing does, or it is no host and port.
    """
    from ray.util import get_node_ip_address

    host, _, port = address.rpartition(":")
    if host in ("localhost", "127.0.0.1"):
        host = get_node_ip_address()  # as Ray takes it
    try:
        socket.create_connection((host, int(port)), timeout=_LONGEST_GOODBYE).close()
    except (OSError, ValueError) as error:
        raise MrprepError(
            f"no Ray cluster answers at {printable(address)} ({printable(str(error))}): give --address as "
            "`ray start --head` shows it, HOST:PORT, or leave it out for this machine alone"
        ) from None


def _delete(folder: str) -> None:
    """Delete the folder of a Ray that is gone; its processes may write there for a moment yet."""
    end = time.monotonic() + _LONGEST_GOODBYE
    while Path(folder).exists() and time.monotonic() < end:
        _end_orphans(folder)
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.1)


def _end_orphans(folder: str) -> None:
    """End what is left of a Ray in ``folder``: it forgets some when its start is interrupted, or its raylet killed."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (process / "stat").read_bytes().rpartition(b")")[2].split()[1]
            if int(parent) in (1, os.getpid()) and os.fsencode(folder) in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


def _nothing() -> None:
    return


def _name(told: Mapping[str, Any]) -> str:
    """Return what a machine is called: as it was named when it was started, else by host and address."""
    address, own = told["NodeManagerAddress"], told.get("NodeName")
    host = own if own and own != address else told.get("NodeManagerHostname", "")
    return printable(f"node {host} ({address})", 120)


def _refuse_deadly(times: int, death: str, label: str) -> None:
    limit = LOSSES if death == "machine" else ATTEMPTS
    if times > limit:
        what = "machines were lost" if death == "machine" else "workers died"
        raise MrprepError(
            f"{what} {times} times on {label} (out of memory, or a crash in a library): look at that input, or give "
            "the machines more memory or fewer processors, and run the same command again"
        )
