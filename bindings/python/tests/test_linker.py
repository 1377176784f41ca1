"""Linker, Output, describe and query_library."""
import array
import mmap
import pickle
import struct

import numpy
import pytest

import cudalink
from conftest import FIXTURES, LTO_PAIR, PAIR, fixture_file, link, read, refused


def options_of(**options):
    """The options as nvJitLink gets them; the LTO-IR is for those that need it."""
    return link(LTO_PAIR if options.pop("lto_pair", False) else PAIR, **options).plan["options"]


@pytest.mark.parametrize(("options", "flags"), [
    ({"lto": True, "lto_pair": True}, ["-lto"]),
    ({"relocatable": True}, ["-r"]),
    ({"debug": True}, ["-g"]),
    ({"lineinfo": True}, ["-lineinfo"]),
    ({"ftz": True}, ["-ftz=1"]),
    ({"ftz": False}, ["-ftz=0"]),
    ({"prec_div": False}, ["-prec-div=0"]),
    ({"prec_sqrt": True}, ["-prec-sqrt=1"]),
    ({"fma": False}, ["-fma=0"]),
    ({"optimize_unused_variables": True}, ["-optimize-unused-variables"]),
    ({"nvvm_latest": True, "lto_pair": True}, ["-nvvm-latest"]),
    ({"no_cache": True}, ["-no-cache"]),
    ({"time": True}, ["-time"]),
    ({"verbose": True}, ["-verbose"]),
    ({"optimization": 0}, ["-O0"]),
    ({"optimization": 3}, ["-O3"]),
    ({"fast_compile": "max"}, ["-Ofc=max"]),
    ({"fast_compile": "min"}, ["-Ofc=min"]),
    ({"max_register_count": 32}, ["-maxrregcount=32"]),
    ({"split_compile": 0}, ["-split-compile=0"]),
    ({"split_compile": numpy.int64(2)}, ["-split-compile=2"]),
    ({"split_compile_extended": 1, "lto_pair": True}, ["-split-compile-extended=1"]),
    ({"jump_table_density": 0, "lto_pair": True}, ["-jump-table-density=0"]),
    ({"kernels_used": "kernel"}, ["-kernels-used=kernel"]),
    ({"kernels_used": ("kernel",)}, ["-kernels-used=kernel"]),
    ({"ptxas_options": (option for option in ["-v"])}, ["-Xptxas=-v"]),
    ({"nvvm_options": ["-opt=3"], "lto_pair": True}, ["-Xnvvm=-opt=3"]),
    ({"flags": ["-g", "-maxrregcount=40"]}, ["-g", "-maxrregcount=40"]),
], ids=str)
def test_an_option_reaches_nvjitlink(options, flags):
    try:
        given = options_of(**options)
    except cudalink.CudalinkError as error:
        pytest.fail("%s: %s" % (error.result, error))
    assert [flag for flag in given if flag in flags] == flags


@pytest.mark.parametrize("name", ["lto", "relocatable", "debug", "lineinfo", "optimize_unused_variables", "no_cache", "time", "verbose"])
def test_a_switch_that_is_false_is_not_turned_on(name):
    assert options_of(**{name: False}) == ["-arch=sm_80"]


def test_names_that_are_to_be_kept():
    inputs = [FIXTURES / "wide" / name for name in ("first.ptx", "second.ptx")]
    assert [flag for flag in link(inputs, kernels_used=["first", "second"]).plan["options"] if "used" in flag] == \
        ["-kernels-used=first", "-kernels-used=second"]
    linked = link(inputs, kernels_used=["first", "third"])
    assert (linked.kernels, [finding.symbol for finding in linked.diagnostics]) == (("first",), ["third"])
    assert refused("missing_kernel", inputs, kernels_used="first", required_kernels="third").diagnostics[-1].symbol == "third"
    assert "-variables-used=of" in link(LTO_PAIR, kernels_used="kernel", variables_used=("of",)).plan["options"]


def test_what_is_passed_through_is_nvjitlink_s_to_refuse():
    error = refused("unknown_option", PAIR, pass_through=["-fictitious"])
    assert error.diagnostics[0].backend_call == "nvJitLinkCreate"


def test_options_that_are_not_nvjitlink_s():
    assert refused("missing_kernel", PAIR, required_kernels="absent").diagnostics[0].symbol == "absent"
    archive = [fixture_file("kernel.ptx"), fixture_file("libhelper.a")]
    assert link(archive, archive_members="needed").kernels == link(archive, archive_members="all").kernels == ("kernel",)
    assert link(PAIR, backend="nvjitlink").plan["backend"] == "nvjitlink"


@pytest.mark.parametrize(("options", "kind", "words"), [
    ({"arch": 80}, TypeError, "arch must be str, not int"),
    ({"arch": b"sm_80"}, TypeError, "arch must be str, not bytes"),
    ({"arch": "sm_80\0"}, ValueError, "null character"),
    ({"lto": 1}, TypeError, "lto must be True, False or None, not int"),
    ({"optimization": True}, TypeError, "optimization"),
    ({"optimization": 4}, ValueError, "not 4"),
    ({"output": "PTX"}, ValueError, "not 'PTX'"),
    ({"output": None}, ValueError, "not None"),
    ({"output": []}, TypeError, "not list"),
    ({"max_register_count": 0}, ValueError, "1 or more"),
    ({"max_register_count": 1.5}, TypeError, "not float"),
    ({"max_register_count": True}, TypeError, "not bool"),
    ({"split_compile": -1}, ValueError, "0 or more"),
    ({"split_compile": 2 ** 31}, ValueError, "fit 32 bits"),
    ({"kernels_used": b"kernel"}, TypeError, "not bytes"),
    ({"kernels_used": ["kernel", None]}, TypeError, "not NoneType"),
    ({"kernels_used": 5}, TypeError, "iterable"),
    ({"library_path": 5}, TypeError, "PathLike"),
    ({"library_path": "a\0b"}, ValueError, "null character"),
    ({"fictitious": True}, TypeError, "fictitious"),
], ids=str)
def test_a_mistake_of_the_caller_is_a_type_or_value_error(options, kind, words):
    with pytest.raises(kind, match=words) as caught:
        cudalink.Linker(**{"arch": "sm_80", **options})
    # What is of the right type and has a wrong value is told as the C interface tells it.
    is_bad_value = kind is ValueError and words != "null character"
    assert getattr(caught.value, "result", None) == ("bad_option_value" if is_bad_value else None)


@pytest.mark.parametrize(("result", "kind", "builtin", "call"), [
    ("bad_arch", cudalink.OptionError, ValueError, lambda: cudalink.Linker(arch="80")),
    ("unknown_option", cudalink.OptionError, ValueError, lambda: cudalink.Linker(flags=["-fictitious"])),
    ("incompatible_options", cudalink.OptionError, ValueError, lambda: cudalink.Linker(ftz=True, flags=["-ftz=false"])),
    ("missing_arch", cudalink.OptionError, ValueError, lambda: link(PAIR, arch=None)),
    ("library_unusable", cudalink.LibraryError, RuntimeError, lambda: link(PAIR, library_path="/nowhere")),
    ("file_not_found", cudalink.InputFileNotFoundError, FileNotFoundError, lambda: link(["nowhere.ptx"])),
    ("io_error", cudalink.InputFileError, OSError, lambda: link([FIXTURES])),
    ("no_inputs", cudalink.InputError, ValueError, lambda: link([])),
    ("unrecognized_input", cudalink.InputError, ValueError, lambda: link([b"text"])),
    ("empty_input", cudalink.InputError, ValueError, lambda: link([b""])),
    ("unresolved_symbol", cudalink.LinkError, RuntimeError, lambda: link(PAIR[:1])),
    ("duplicate_symbol", cudalink.LinkError, RuntimeError, lambda: link([*PAIR, PAIR[1]])),
    ("output_not_available", cudalink.LinkError, RuntimeError, lambda: link(PAIR).ptx),
    ("over_limit", cudalink.LinkError, RuntimeError, lambda: link([FIXTURES / "wide/kernel.old.zstd.fatbin"], max_unpacked_bytes=1)),
    ("invalid_argument", cudalink.ArgumentError, ValueError, lambda: link([b"caf\xe9.ptx".decode("utf-8", "surrogateescape")])),
], ids=lambda value: value if isinstance(value, str) else "")
def test_an_error_of_the_library_has_its_class(result, kind, builtin, call):
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert (error.result, type(error)) == (result, kind) and isinstance(error, builtin)
    assert str(error).startswith(error.message) and error.message and error.code > 0
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.result, again.diagnostics) == (kind, str(error), result, error.diagnostics)


def test_the_text_of_an_error_has_its_hint_and_no_other_s():
    with cudalink.Linker("sm_80") as linker:
        linker.add(PAIR[0])
        with pytest.raises(cudalink.LinkError) as caught:
            linker.link()
        error = caught.value
        assert error.diagnostics[0].hint and str(error) == error.message + "\nhint: " + error.diagnostics[0].hint
        with pytest.raises(cudalink.StateError) as caught:
            linker.link()
        assert caught.value.diagnostics == error.diagnostics and str(caught.value) == caught.value.message


def test_a_diagnostic_has_what_the_library_found():
    error = refused("unresolved_symbol", [("the kernel", read("kernel.ptx"))])
    (found,) = error.diagnostics
    assert (found.severity, found.result, found.input, found.symbol) == ("error", "unresolved_symbol", "the kernel", "helper")
    assert "the kernel" in found.message


def test_findings_of_one_answer_share_its_text():
    calls = b".version 8.0\n.target sm_80\n.address_size 64\n.extern .func f();\n.extern .func g();\n"
    error = refused("unresolved_symbol", [calls + b".visible .entry kernel() { call.uni f; call.uni g; ret; }"])
    one, other = error.diagnostics
    assert one.symbol != other.symbol and one.backend_text and one.backend_text is other.backend_text
    again = pickle.loads(pickle.dumps(error)).diagnostics
    assert again[0].backend_text is again[1].backend_text
    assert one.backend_text not in repr(error)


def test_each_output_under_its_name():
    cubin, ptx, ltoir = link(LTO_PAIR), link(LTO_PAIR, output="ptx"), link(LTO_PAIR, output="ltoir")
    assert cubin.cubin is cubin.data and cubin.data.startswith(b"\x7fELF")
    assert b".version" in ptx.ptx and b"\0" not in ptx.ptx and link([ptx.ptx]).kernels == ("kernel",)
    assert link([ltoir.ltoir]).cubin == cubin.cubin
    for output, kind in [(cubin, "cubin"), (ptx, "ptx"), (ltoir, "ltoir")]:
        assert (output.kind, type(output.data)) == (kind, bytes)
        for other in {"cubin", "ptx", "ltoir"} - {kind}:
            with pytest.raises(cudalink.LinkError, match="Linker"):
                getattr(output, other)
    assert (cubin.kernels, ptx.kernels, ltoir.kernels) == (("kernel",), ("kernel",), ())


@pytest.mark.parametrize("make", [
    bytes, bytearray, memoryview, lambda data: memoryview(bytearray(data)).toreadonly(), lambda data: array.array("B", data),
    lambda data: numpy.frombuffer(data, numpy.uint8), lambda data: numpy.frombuffer(data + b"\0" * (-len(data) % 8), numpy.uint32).reshape(2, -1),
], ids=["bytes", "bytearray", "memoryview", "readonly", "array", "numpy", "numpy2d"])
def test_any_contiguous_buffer(make):
    assert link([make(read("kernel.ptx")), make(read("helper.ptx"))]).cubin == link([read("kernel.ptx"), read("helper.ptx")]).cubin


def test_a_mapped_file():
    with open(fixture_file("kernel.ptx"), "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert link([mapped, PAIR[1]]).kernels == ("kernel",)
        assert cudalink.describe(mapped)["kind"] == "ptx"


def test_a_buffer_is_let_go():
    data = bytearray(read("kernel.ptx"))
    with cudalink.Linker(arch="sm_80") as linker:
        linker.add(data)
        data.extend(b"x")  # A buffer that is still exported cannot be resized.
        data.clear()
        with pytest.raises(cudalink.InputError):
            linker.add(bytearray(b"text"))


@pytest.mark.parametrize("data", [5, None, ["a"], 1.5, object()])
def test_what_is_no_input(data):
    with cudalink.Linker(arch="sm_80") as linker:
        with pytest.raises(TypeError, match="bytes-like"):
            linker.add(data)
        linker.add(PAIR[0])
        linker.add(PAIR[1])
        assert linker.link().kernels == ("kernel",)


def test_what_is_not_contiguous():
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        link([memoryview(read("kernel.ptx"))[::2]])
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        link([numpy.zeros((8, 8))[:, 0]])


def test_text_is_not_taken_for_a_path():
    with pytest.raises(TypeError, match="encode"):
        link([read("kernel.ptx").decode()])


def test_paths_and_names(tmp_path):
    strange = tmp_path / "ünï code.ptx"
    strange.write_bytes(read("kernel.ptx"))
    assert refused("unresolved_symbol", [strange]).diagnostics[0].input == str(strange)
    assert refused("unresolved_symbol", [("ünï", read("kernel.ptx"))]).diagnostics[0].input == "ünï"
    with cudalink.Linker(arch="sm_80") as linker:
        with pytest.raises(TypeError, match="called by its path"):
            linker.add(strange, name="other")
        with pytest.raises(TypeError, match="name must be str"):
            linker.add(b"data", name=b"other")
        with pytest.raises(ValueError, match="null"):
            linker.add("a\0b")


def test_a_kind_is_checked():
    with cudalink.Linker(arch="sm_80") as linker:
        linker.add(PAIR[0], kind="ptx")
        linker.add(PAIR[1], "auto")
        for kind, error in [("elf", ValueError), (2, ValueError), (b"ptx", TypeError), (True, TypeError)]:
            with pytest.raises(error, match="kind must be one of"):
                linker.add(PAIR[1], kind=kind)
        assert linker.link().kernels == ("kernel",)
    with cudalink.Linker(arch="sm_80") as linker, pytest.raises(cudalink.InputError) as caught:
        linker.add(read("kernel.ptx"), kind="cubin")
    assert caught.value.result == "wrong_input_kind"


def test_calls_that_do_not_fit_the_state():
    with cudalink.Linker(arch="sm_80") as linker:
        for path in PAIR:
            linker.add(path)
        assert linker.plan is None and linker.handle
        linker.link()
        for call in (linker.link, lambda: linker.add(PAIR[0]), lambda: linker.__init__(arch="sm_90")):
            with pytest.raises(cudalink.StateError) as caught:
                call()
            assert caught.value.result == "invalid_state"
        assert linker.plan["options"] == ["-arch=sm_80"] and not linker.closed
    linker.close()
    assert linker.closed and linker.handle == 0 and linker.plan["options"] == ["-arch=sm_80"]
    for call in (linker.link, lambda: linker.add(PAIR[0]), lambda: linker.add(b"data")):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    unmade = cudalink.Linker.__new__(cudalink.Linker)
    with pytest.raises(cudalink.StateError):
        unmade.link()
    unmade.close()


def test_what_a_failed_link_told_stays():
    linker = cudalink.Linker(arch="sm_80")
    linker.add(PAIR[0])
    with pytest.raises(cudalink.LinkError) as caught:
        linker.link()
    linker.close()
    assert linker.diagnostics == caught.value.diagnostics != ()
    assert linker.logs == caught.value.logs


def test_a_subclass_has_arguments_of_its_own():
    class ForDevice(cudalink.Linker):
        def __init__(self, capability):
            super().__init__(arch="sm_%d%d" % capability)

    with ForDevice((8, 0)) as linker:
        for path in PAIR:
            linker.add(path)
        assert linker.link().plan["options"] == ["-arch=sm_80"]


def test_a_linker_cannot_be_copied():
    with cudalink.Linker(arch="sm_80") as linker, pytest.raises(TypeError):
        pickle.dumps(linker)


def test_describe():
    told = cudalink.describe(read("kernel.lto.o"), name="one")
    assert (told["name"], told["kind"], told["has_ltoir"]) == ("one", "object", True)
    path = fixture_file("kernel.ptx")
    assert cudalink.describe(path)["name"] == str(path) and cudalink.describe(str(path), name="two")["name"] == "two"
    assert cudalink.describe(b"text")["result"] == "unrecognized_input"
    assert cudalink.describe(read("kernel.fatbin")[:100])["result"] == "bad_input"
    with pytest.raises(FileNotFoundError):
        cudalink.describe("nowhere.ptx")
    with pytest.raises(TypeError):
        cudalink.describe(5)


def test_what_a_relocatable_output_leaves_undefined_is_told():
    partial = link(PAIR[:1], relocatable=True)
    assert (partial.kernels, partial.undefined) == (("kernel",), ("helper",))
    assert link(PAIR).undefined == ()


def test_query_library():
    found = cudalink.query_library()
    assert found.version == (13, 5) and found.has_version and found.has_linked_ltoir and found.backend == "nvjitlink"
    assert cudalink.query_library(found.path)[0] == found.path
    with pytest.raises(cudalink.LibraryError, match="/nowhere") as caught:
        cudalink.query_library("/nowhere")
    assert caught.value.result == "library_unusable"
    with pytest.raises(TypeError):
        cudalink.query_library(5)
    with pytest.raises(ValueError, match="backend"):
        cudalink.query_library(backend="none")


def test_the_driver_is_what_is_queried_where_it_is_asked_for():
    try:
        assert cudalink.query_library(backend="driver").backend == "driver"
    except cudalink.LibraryError as error:
        assert error.result == "driver_not_found" and "libcuda.so.1" in str(error)


def test_a_fatal_input_is_refused_before_nvjitlink_sees_it():
    """A truncated fatbin ends the process in each release."""
    fatbin = read("kernel.fatbin")
    for size in (17, 100, len(fatbin) // 2, len(fatbin) - 1):
        refused("bad_input", [fatbin[:size]])


def test_kernels_are_those_of_the_cubin():
    cubin = link(PAIR).cubin
    assert struct.unpack_from("<H", cubin, 18) == (190,)
    assert sorted(link([FIXTURES / "wide" / name for name in ("first.ptx", "second.ptx")]).kernels) == ["first", "second"]
