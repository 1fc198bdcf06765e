"""Where the work of a command is done: in processes here, or on the machines of a Ray cluster."""

from typing import Annotated, Any

import typer

Jobs = Annotated[int | None, typer.Option(help="Worker processes.  [default: one a core]", min=1)]
Memory = Annotated[
    str | None, typer.Option(help="Memory of all processes together, such as 4GB.  [default: 4/5 of the machine's]")
]
Executor = Annotated[str, typer.Option(help="processes on this machine, or ray: a cluster with a shared file system.")]
Address = Annotated[
    str | None, typer.Option(help="Of a running Ray cluster, such as 10.0.0.1:6379.  [default: start one, on loopback]")
]


def where(jobs: int | None, memory: str | None, executor: str, address: str | None) -> dict[str, Any]:
    """Return what RunOptions is to hold of these options.

    Raises:
        UsageError: there is no such executor, or it has no address, or no memory to keep to.
    """
    from mrprep.cli.given import job_count
    from mrprep.cli.size import parse_size
    from mrprep.errors import UsageError

    if executor not in ("processes", "ray"):
        raise UsageError(f"--executor {executor!r} is not known: processes or ray")
    if address is not None and executor != "ray":
        raise UsageError("--address is of a Ray cluster: give --executor ray with it, or leave it out")
    if executor == "ray":
        if memory is not None:
            raise UsageError("--memory is of the processes of one machine: with --executor ray give --jobs")
        return {"jobs": jobs or 0, "executor": executor, "address": address}
    return {"jobs": job_count(jobs), "memory": parse_size(memory, "--memory")}
