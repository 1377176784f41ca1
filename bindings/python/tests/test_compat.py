"""cudalink.compat has the names and the defaults of cuda.core, and takes and gives its ObjectCode."""
import dataclasses
import pickle
import subprocess
import sys

import cuda.core
import pytest
from cuda.bindings.nvjitlink import nvJitLinkError
from cuda.core._utils.cuda_utils import CUDAError

import cudalink
from conftest import fixture_file, read
from cudalink import compat
from cudalink.compat import Linker, LinkerOptions, ObjectCode


def codes(kind="ltoir", release="13.0"):
    return [getattr(ObjectCode, "from_" + kind)(read("%s.%s" % (name, kind), release), name=name) for name in ("kernel", "helper")]


def options(**given):
    return LinkerOptions(**{"arch": "sm_80", **given})


def test_the_names_and_defaults_are_cuda_core_s():
    def fields(cls):
        return [(field.name, field.default) for field in dataclasses.fields(cls)]

    # The last one is of the release after.
    assert fields(LinkerOptions) == [*fields(cuda.core.LinkerOptions), ("incremental", None)]
    for ours, theirs in [(Linker, cuda.core.Linker), (LinkerOptions, cuda.core.LinkerOptions)]:
        missing = {name for name in dir(theirs) if not name.startswith("_")} - set(dir(ours))
        assert not missing, missing
    assert ObjectCode is cuda.core.ObjectCode


def test_the_flags_are_cuda_core_s():
    given = dict(
        arch="sm_80", max_register_count=32, time=True, verbose=True, link_time_optimization=True, ptx=True, optimization_level=3, debug=True,
        lineinfo=True, ftz=True, prec_div=False, prec_sqrt=True, fma=False, kernels_used=["a", "b"], variables_used="c",
        optimize_unused_variables=True, ptxas_options=["-v"], split_compile=0, split_compile_extended=1, no_cache=True)
    assert sorted(LinkerOptions(**given).as_bytes()) == sorted(cuda.core.LinkerOptions(**given).as_bytes())


@pytest.mark.parametrize("target", ["cubin", "ptx", "ltoir"])
def test_a_link_gives_an_object_code(target):
    given = options(link_time_optimization=True, ptx=True if target == "ptx" else None, name="linked")
    linked = Linker(*codes(), options=given).link(target)
    assert isinstance(linked, cuda.core.ObjectCode)
    assert (linked.code_type, linked.name) == (target, "linked")
    again = Linker(*([linked] if target != "cubin" else codes()), options=options()).link("cubin")
    assert again.code.startswith(b"\x7fELF")


def test_the_cubin_is_cuda_core_s():
    given = dict(arch="sm_80", link_time_optimization=True)
    theirs = cuda.core.Linker(*codes(), options=cuda.core.LinkerOptions(**given)).link("cubin")
    assert Linker(*codes(), options=LinkerOptions(**given)).link("cubin").code == theirs.code


def test_files_and_names():
    paths = [ObjectCode.from_ptx(str(fixture_file(name + ".ptx"))) for name in ("kernel", "helper")]
    assert Linker(*paths, options=options()).link("cubin").code.startswith(b"\x7fELF")
    with pytest.raises(cudalink.LinkError) as caught:
        Linker(codes("ptx")[0], options=options()).link("cubin")
    assert caught.value.diagnostics[0].input == "kernel"


@pytest.mark.parametrize(("kind", "call"), [
    (cudalink.InputFileNotFoundError, lambda: Linker(ObjectCode.from_ptx("/nowhere/kernel.ptx"), options=options())),
    (cudalink.InputFileError, lambda: Linker(ObjectCode.from_ptx("/"), options=options())),
    (cudalink.OptionError, lambda: Linker(*codes(), options=options(arch="99"))),
    (cudalink.InputError, lambda: Linker(ObjectCode.from_cubin(b"x"), options=options())),
    (cudalink.LinkError, lambda: Linker(codes()[0], options=options()).link("cubin")),
    (cudalink.LibraryError, lambda: Linker(*codes("ptx"), options=options()).link("cubin")),
], ids=lambda value: value.__name__)
def test_an_error_is_ours_and_cuda_core_s(kind, call, monkeypatch):
    if kind is cudalink.LibraryError:
        monkeypatch.setenv("CUDALINK_NVJITLINK", "/nowhere/libnvJitLink.so")
    for theirs in (nvJitLinkError, CUDAError):
        with pytest.raises(theirs) as caught:
            call()
        error = caught.value
        assert isinstance(error, kind) and type(error).__name__ == kind.__name__ and error.__cause__ is None
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.diagnostics) == (type(error), str(error), error.diagnostics)
        # nvJitLink's own answer, where there is one.
        assert error.status == again.status == (error.diagnostics[-1].backend_code if error.diagnostics else 0)


# What cuda.core gets wrong.

@pytest.mark.parametrize("name", ["time", "optimize_unused_variables", "no_cache", "debug", "link_time_optimization"])
def test_false_is_off(name):
    linker = Linker(*codes("ptx"), options=options(**{name: False}))
    linker.link("cubin")
    assert linker._linker.plan["options"] == ["-arch=sm_80"]
    assert options(**{name: False}).as_bytes() == [b"-arch=sm_80"]


def test_a_tuple_is_not_dropped():
    assert options(kernels_used=("a", "b")).as_bytes() == [b"-arch=sm_80", b"-kernels-used=a", b"-kernels-used=b"]
    assert Linker(*codes("ptx"), options=options(kernels_used=("absent",))).link("cubin").code.startswith(b"\x7fELF")


def test_a_name_that_is_none():
    assert Linker(*codes("ptx"), options=options(name=None)).link("cubin").name == ""


@pytest.mark.parametrize("asked", [None, False])
def test_lto_ir_without_the_option(asked):
    assert Linker(*codes(), options=options(link_time_optimization=asked)).link("cubin").code.startswith(b"\x7fELF")


def test_a_second_link_says_what_is_wrong():
    linker = Linker(*codes("ptx"), options=options())
    linker.link("cubin")
    with pytest.raises(RuntimeError, match="complete|linked"):
        linker.link("cubin")


def test_logs_after_a_failure_and_close():
    linker = Linker(ObjectCode.from_ptx(read("kernel.ptx").replace(b"ret;", b"fictitious;")), options=options())
    with pytest.raises(cudalink.CudalinkError):
        linker.link("cubin")
    before = linker.get_error_log()
    linker.close()
    assert linker.get_error_log() == before and isinstance(linker.get_info_log(), str)


def test_without_an_arch_it_is_the_device_s(monkeypatch):
    monkeypatch.setattr(compat, "_current_arch", lambda: "sm_86")
    linker = Linker(*codes("ptx"), options=LinkerOptions())
    linker.link("cubin")
    assert "-arch=sm_86" in linker._linker.plan["options"]


def test_where_cuda_core_is_not_installed():
    script = """
import sys
sys.modules["cuda.core"] = sys.modules["cuda.bindings"] = None
import cudalink
from cudalink.compat import Linker, LinkerOptions, ObjectCode
assert ObjectCode.__module__ == "cudalink.compat"
codes = [ObjectCode.from_ptx(sys.argv[1], name="unused"), ObjectCode.from_ptx(open(sys.argv[2], "rb").read(), name="helper")]
linked = Linker(*codes, options=LinkerOptions(arch="sm_80")).link("cubin")
assert (linked.code_type, linked.name, linked.symbol_mapping) == ("cubin", "<default linker>", {})
assert linked.code.startswith(b"\\x7fELF")
for wrong in (lambda: ObjectCode.from_ptx(5), lambda: Linker(b"code", options=LinkerOptions(arch="sm_80"))):
    try:
        wrong()
    except TypeError:
        continue
    sys.exit("no TypeError")
try:
    Linker(*codes).link("cubin")
except cudalink.OptionError as error:
    print(error.result)
"""
    command = [sys.executable, "-c", script, fixture_file("kernel.ptx"), fixture_file("helper.ptx")]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "missing_arch\n"
