"""Watch the processes of a build: the largest resident set of one of them, and of all together."""

import threading
import time

import psutil


class Watch(threading.Thread):
    """Polls a process tree every 50 ms until told to stop."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self.peak = {"process": 0, "tree": 0}

    def run(self) -> None:
        """Poll until the process has ended or ``stop`` is called."""
        while not self._ended.is_set():
            try:
                sizes = [p.memory_info().rss for p in [self._root, *self._root.children(recursive=True)]]
            except psutil.NoSuchProcess:
                continue
            self.peak["process"] = max(self.peak["process"], *sizes)
            self.peak["tree"] = max(self.peak["tree"], sum(sizes))
            time.sleep(0.05)

    def stop(self) -> dict[str, int]:
        """Return the peaks in MiB."""
        self._ended.set()
        self.join()
        return {name: size >> 20 for name, size in self.peak.items()}
