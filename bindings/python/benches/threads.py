"""Eight Python threads that link at once, against one thread, and against cuda.core's Linker in the same run. Prints times and ratios.

Needs cudalink, nvidia-nvjitlink and cuda-core in one environment; bindings/python/run-tests makes one in target/python/venv.
"""
import os
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import cuda.core

import cudalink

FIXTURES = Path(__file__).resolve().parents[3] / "tests" / "fixtures" / "13.0"
INPUTS = {kind: [FIXTURES.joinpath("%s.%s" % (name, kind)).read_bytes() for name in ("kernel", "helper")] for kind in ("ptx", "ltoir")}
THREADS, LINKS, ROUNDS = 8, 40, 5


def with_cudalink(kind: str) -> None:
    with cudalink.Linker("sm_80", no_cache=True) as linker:
        for data in INPUTS[kind]:
            linker.add(data)
        linker.link().cubin


def with_cuda_core(kind: str) -> None:
    make = cuda.core.ObjectCode.from_ptx if kind == "ptx" else cuda.core.ObjectCode.from_ltoir
    options = cuda.core.LinkerOptions(arch="sm_80", no_cache=True, link_time_optimization=kind == "ltoir" or None)
    linker = cuda.core.Linker(*map(make, INPUTS[kind]), options=options)
    linker.link("cubin").code
    linker.close()


def seconds(link: Callable[[str], None], kind: str, threads: int) -> float:
    """The time for all links, shared by the threads."""
    barrier = threading.Barrier(threads + 1)

    def work() -> None:
        barrier.wait()
        for _ in range(LINKS // threads):
            link(kind)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    barrier.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start


def main() -> None:
    print("%d links, %d processors, nvJitLink %d.%d" % (LINKS, len(os.sched_getaffinity(0)), *(cudalink.query_library().version or (0, 0))))
    for kind in INPUTS:
        times: dict[str, list[float]] = {name: [] for name in ("one", "eight", "core one", "core eight")}
        with_cudalink(kind)
        with_cuda_core(kind)
        # Taken in turn, so that what else the machine does is shared by all.
        for _ in range(ROUNDS):
            for name, link in (("", with_cudalink), ("core ", with_cuda_core)):
                times[name + "one"].append(seconds(link, kind, 1))
                times[name + "eight"].append(seconds(link, kind, THREADS))
        median = {name: statistics.median(values) for name, values in times.items()}
        print("%-5s  one thread %.2f ms a link, cuda.core %.2f; eight threads are x%.2f as fast as one, cuda.core's x%.2f; "
              "cudalink takes %.2f of cuda.core's time with one thread, %.2f with eight" % (
                  kind, median["one"] / LINKS * 1e3, median["core one"] / LINKS * 1e3, median["one"] / median["eight"],
                  median["core one"] / median["core eight"], median["one"] / median["core one"], median["eight"] / median["core eight"]))


if __name__ == "__main__":
    main()
