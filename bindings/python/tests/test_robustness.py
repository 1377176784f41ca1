"""Threads, forks, exceptions and ends."""
import contextlib
import errno
import gc
import os
import pickle
import re
import subprocess
import sys
import sysconfig
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

import cudalink
from conftest import FIXTURES, HUNGRY, LTO_PAIR, PAIR, ROOT, compiled, fixture_file, link, read


def python(script, *arguments, **environment):
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_an_input_may_go_right_after_add():
    expected = link(PAIR).cubin
    with cudalink.Linker(arch="sm_80") as linker:
        for name in ("kernel.ptx", "helper.ptx"):
            data = bytearray(read(name))
            linker.add(data)
            data[:] = b"\xff" * len(data)
            del data
        gc.collect()
        assert linker.link().cubin == expected


def test_close_twice_and_by_the_collector():
    linker = cudalink.Linker(arch="sm_80")
    linker.close()
    linker.close()
    gone = weakref.ref(linker)
    del linker
    gc.collect()
    assert gone() is None


def test_an_exception_inside_closes():
    with pytest.raises(ZeroDivisionError), cudalink.Linker(arch="sm_80") as linker:
        linker.add(PAIR[0])
        1 / 0
    assert linker.closed


def test_linkers_that_fail_leak_nothing():
    def fail():
        for make in (lambda: cudalink.Linker(arch="80"), lambda: cudalink.Linker(arch="sm_80", kernels_used=["a", 5])):
            with pytest.raises((TypeError, ValueError)):
                make()
        with cudalink.Linker(arch="sm_80") as linker, pytest.raises(cudalink.InputError):
            linker.add(bytes(1 << 20))

    for _ in range(50):
        fail()
    gc.collect()
    before = resident()
    for _ in range(500):
        fail()
    gc.collect()
    # One input of each round would be 500 MB.
    assert resident() - before < 20 << 20


def test_open_linkers_are_freed():
    before = resident()
    for _ in range(200):
        linker = cudalink.Linker(arch="sm_80")
        linker.add(read("kernel.ptx") + b"\n" * (1 << 20))
    del linker
    gc.collect()
    assert resident() - before < 50 << 20


def test_eight_threads_link_at_once():
    expected = [link(PAIR).cubin, link(LTO_PAIR).cubin]
    barrier = threading.Barrier(8)

    def work(index):
        barrier.wait()
        return [link((PAIR, LTO_PAIR)[index % 2]).cubin for _ in range(10)]

    with ThreadPoolExecutor(8) as pool:
        for index, cubins in enumerate(pool.map(work, range(8))):
            assert set(cubins) == {expected[index % 2]}


def test_threads_share_one_linker():
    """All call everything on one linker at once; each call is done or refused, and one of the links is."""
    for _ in range(20):
        linker = cudalink.Linker(arch="sm_80")
        linker.add(PAIR[0])
        linker.add(PAIR[1])
        barrier = threading.Barrier(8)

        def work(index):
            barrier.wait()
            try:
                if index == 7:
                    linker.close()
                    return None
                if index % 2:
                    linker.diagnostics, linker.logs, linker.plan, linker.handle, linker.closed
                return linker.link()
            except cudalink.StateError:
                return None

        with ThreadPoolExecutor(8) as pool:
            outputs = [output for output in pool.map(work, range(8)) if output]
        assert len(outputs) <= 1 and all(output.kernels == ("kernel",) for output in outputs)
        linker.close()


def test_close_waits_for_the_link_that_runs():
    units = [compiled(HUNGRY.replace("hungry", "hungry%d" % number), "ptx") for number in range(8)]
    for _ in range(5):
        linker, outputs = cudalink.Linker("sm_80", no_cache=True), []
        for unit in units:
            linker.add(unit)
        worker = threading.Thread(target=lambda: outputs.append(linker.link()))
        worker.start()
        time.sleep(0.1)
        linker.close()
        worker.join()
        assert linker.closed and [len(output.kernels) for output in outputs] == [8]


def test_a_signal_handler_cannot_take_a_linker_from_its_own_call():
    script = """
import signal, sys, cudalink
refused = []
def handler(*_):
    try:
        linker.close()
    except cudalink.StateError as error:
        refused.append(str(error))
signal.signal(signal.SIGALRM, handler)
for number in range(40):
    with cudalink.Linker(arch="sm_80", no_cache=True) as linker:
        linker.add(sys.argv[1]); linker.add(sys.argv[2])
        signal.setitimer(signal.ITIMER_REAL, 0.0005 * number + 0.0001)
        try:
            assert linker.link().kernels == ("kernel",)
        except cudalink.StateError as error:
            assert "closed" in str(error)
        signal.setitimer(signal.ITIMER_REAL, 0)
print("done", bool(refused))
"""
    assert python(script, *PAIR).stdout == "done True\n"


def test_a_link_at_the_end_of_the_interpreter_ends_its_thread():
    """A handler that was registered before the import runs after the wait, and may join what still links."""
    script = """
import atexit, sys, threading
atexit.register(lambda: worker.join())
import cudalink
def forever():
    while True:
        with cudalink.Linker(arch="sm_80") as linker:
            linker.add(sys.argv[1]); linker.add(sys.argv[2]); linker.link()
worker = threading.Thread(target=forever, daemon=True)
worker.start()
"""
    done = python(script, *PAIR)
    assert (done.returncode, done.stderr) == (0, ""), done


def test_the_error_of_a_file_has_the_fields_of_oserror():
    with cudalink.Linker("sm_80") as linker, pytest.raises(FileNotFoundError) as caught:
        linker.add("/no/such/file.ptx")
    error = caught.value
    assert (error.errno, error.filename) == (errno.ENOENT, "/no/such/file.ptx") and "/no/such/file.ptx" in error.strerror
    assert pickle.loads(pickle.dumps(error)).result == error.result == "file_not_found"


@contextlib.contextmanager
def counter():
    """A thread that counts all the while, in the first item of what this gives: it could not, if we held the interpreter's lock."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield counted
    finally:
        stop.set()
        thread.join()


def test_other_threads_run_while_a_link_does():
    inside = 0
    with counter() as counted:
        for _ in range(30):
            with cudalink.Linker(arch="sm_80") as linker:
                for path in LTO_PAIR:
                    linker.add(path)
                # No bytecode of this thread runs between these two but for the call.
                before = counted[0]
                linker.link()
                inside += counted[0] - before
    # With the lock held there would be one switch for each link or two.
    assert inside > 5 * 30, inside


def test_a_big_input_lets_others_run():
    big = read("kernel.ptx") + b"\n" * (64 << 20)
    with counter() as counted, cudalink.Linker(arch="sm_80") as linker:
        before = counted[0]
        linker.add(big)
        assert counted[0] > before + 3


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_links_with_what_it_inherited():
    expected = link(PAIR).cubin
    with cudalink.Linker(arch="sm_80") as linker:
        for path in PAIR:
            linker.add(path)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if linker.link().cubin == link(PAIR).cubin == expected else 2
                linker.close()
            finally:
                os._exit(status)
        assert linker.link().cubin == expected
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_interpreter_ends_with_open_linkers():
    script = """
import sys, threading, cudalink
linkers = [cudalink.Linker(arch="sm_80") for _ in range(10)]
for linker in linkers:
    linker.add(sys.argv[1]); linker.add(sys.argv[2])
linkers[0].link()
class Keeper:
    linker = linkers[1]
    def __del__(self):
        self.linker.link()
cycle = [Keeper()]; cycle.append(cycle)
sys.modules["kept"] = linkers
def forever():
    while True:
        with cudalink.Linker(arch="sm_80") as linker:
            linker.add(sys.argv[1]); linker.add(sys.argv[2]); linker.link()
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
print("end", flush=True)
"""
    for _ in range(5):
        done = python(script, *PAIR)
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", ""), done


def test_an_interrupt_reaches_python():
    script = """
import signal, sys, cudalink
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError))
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    while True:
        with cudalink.Linker(arch="sm_80") as linker:
            linker.add(sys.argv[1]); linker.add(sys.argv[2]); linker.link()
except TimeoutError:
    print("interrupted", linker.closed)
"""
    assert python(script, *PAIR).stdout == "interrupted True\n"


def test_the_module_says_that_it_needs_no_global_lock():
    source = (ROOT / "bindings" / "python" / "cudalink" / "_cudalink.pyx").read_text()
    assert "freethreading_compatible=True" in source.splitlines()[0]
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        done = python("import sys, cudalink; print(sys._is_gil_enabled())")
        assert done.stdout == "False\n", done


@pytest.mark.skipif(not os.path.exists("/usr/bin/valgrind"), reason="valgrind is not installed")
def test_valgrind_finds_nothing_in_the_extension():
    script = """
import sys, cudalink
from cudalink import CudalinkError
for options in ({}, {"output": "ptx"}, {"kernels_used": ["kernel"], "ptxas_options": ("-v",)}, {"arch": "80"}, {"flags": ["-x"]}, {"lto": 5}):
    try:
        with cudalink.Linker(**{"arch": "sm_80", **options}) as linker:
            linker.add(sys.argv[1]); linker.add(bytearray(open(sys.argv[2], "rb").read()), name="helper")
            linker.link().data; linker.plan
            linker.link()
    except (CudalinkError, TypeError) as error:
        str(error), getattr(error, "diagnostics", None)
print(cudalink.describe(sys.argv[1])["kind"], cudalink.query_library(sys.argv[3])[0])
try:
    cudalink.query_library("/nowhere")
except CudalinkError:
    pass
"""
    # The stub stands for nvJitLink, whose own findings are not ours to count and which takes minutes there.
    library = os.path.join(os.path.dirname(os.path.dirname(sys.prefix)), "python", "fake", "libnvJitLink.so")
    os.makedirs(os.path.dirname(library), exist_ok=True)
    source = ROOT / "tests" / "fake" / "nvjitlink.c"
    defines = ["-DPLAIN", "-DLINKED_LTOIR", "-DMAJOR=13", "-DMINOR=5", '-DFIXTURES="%s"' % FIXTURES]
    subprocess.run(["cc", "-std=gnu11", "-shared", "-fPIC", *defines, source, "-o", library], check=True)
    command = ["valgrind", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=none",
               "--suppressions=" + str(ROOT / "tests" / "c" / "valgrind.supp"), sys.executable, "-c", script,
               *map(str, (fixture_file("kernel.ltoir"), fixture_file("helper.ltoir"), library))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONMALLOC": "malloc", "CUDALINK_NVJITLINK": library})
    assert done.stdout == "ltoir %s\n" % os.path.realpath(library), done.stderr[-3000:]
    # The interpreter has findings of its own; ours have a frame of ours at or near the place, below malloc or memcpy.
    assert "ERROR SUMMARY" in done.stderr
    findings = re.split(r"\n==\d+== \n", done.stderr)
    ours = [finding for finding in findings if re.search(r"cudalink", "".join(re.findall(r" (?:at|by) 0x.*", finding)[:4]))]
    assert not ours, "\n".join(ours)
