"""Watch the processes of a build: the largest resident set of those that write MindRecord, and of the others."""

import threading
import time
from pathlib import Path

import psutil


class Watch(threading.Thread):
    """Polls a process tree every 20 ms until told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self._writers: set[int] = set()
        self.peak = {"writer": 0, "other": 0, "tree": 0}

    def run(self) -> None:
        """Poll until the process has ended or ``stop`` is called."""
        while not self._ended.is_set():
            self._look()
            time.sleep(0.02)

    def stop(self) -> dict[str, int]:
        """Return the peaks in bytes; ``tree`` is the largest sum over all processes at one time."""
        self._ended.set()
        self.join()
        return self.peak

    def _look(self) -> None:
        total = 0
        try:
            for process in [self._root, *self._root.children(recursive=True)]:
                size = process.memory_info().rss
                total += size
                kind = "writer" if self._writes(process.pid) else "other"
                self.peak[kind] = max(self.peak[kind], size)
        except psutil.NoSuchProcess:
            return
        self.peak["tree"] = max(self.peak["tree"], total)

    def _writes(self, pid: int) -> bool:
        if pid not in self._writers:
            try:
                loaded = "mindspore" in Path(f"/proc/{pid}/maps").read_text()
            except OSError:
                return False
            if loaded:
                self._writers.add(pid)
        return pid in self._writers
