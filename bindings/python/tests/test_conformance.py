"""What the suites of cuda.core (K), cuda.bindings (B), numba-cuda (N) and pynvjitlink (P) check, asked of cudalink.

The identifiers are those of a list of their tests. A case that needs a GPU is in gpu/. Left out are N2 to N6, N8 and N10, which are about numba's
compiler of CUDA C++ and its launches, and not about a link; of N16 and K22 what has an equivalent here is asked.
"""
import struct

import pytest
from cuda.bindings.nvjitlink import nvJitLinkError

import cudalink
from conftest import FIXTURES, HUNGRY, LTO_PAIR, PAIR, TRIO, compiled, fixture_file, link, read, refused, trio
from cudalink import compat
from cudalink.compat import LinkerOptions, ObjectCode


def core_link(kind, target="cubin", **options):
    codes = [getattr(ObjectCode, "from_" + kind)(data, name=name) for name, data in trio(kind)]
    return compat.Linker(*codes, options=LinkerOptions(arch="sm_80", **options)).link(target)


def elf_type(cubin):
    return struct.unpack_from("<H", cubin, 16)[0]


def registers(cubin):
    """What each kernel uses: the top byte of sh_info of its section."""
    (sections,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, sections + index * size) for index in range(count)]
    strings = headers[names][4]
    texts = {cubin[strings + header[0]:cubin.index(b"\0", strings + header[0])].decode(): header[7] >> 24 for header in headers}
    return {name.removeprefix(".text."): used for name, used in texts.items() if name.startswith(".text.")}


# No unit has a variable, and B and C are no kernels.
K1 = [
    {}, {"verbose": True}, {"max_register_count": 32}, {"max_register_count": -1}, {"optimization_level": 3}, {"debug": True},
    {"lineinfo": True}, {"time": True}, {"optimize_unused_variables": True}, {"ptxas_options": "-v"},
    {"ptxas_options": ["-v", "--verbose"]}, {"ptxas_options": ("-v", "--verbose")}, {"split_compile": 0}, {"split_compile_extended": 1},
    {"ftz": True}, {"prec_div": True}, {"prec_sqrt": True}, {"fma": True}, {"kernels_used": "A"}, {"kernels_used": ["C", "B"]},
    {"kernels_used": ("C", "B")}, {"variables_used": "var1"}, {"variables_used": ["var1", "var2"]},
    {"variables_used": ("var1", "var2")}, {"no_cache": True},
]


@pytest.mark.parametrize("options", K1, ids=str)
def test_k1_ptx_links_with_each_option(options):
    assert core_link("ptx", **options).code.startswith(b"\x7fELF")


@pytest.mark.parametrize("release", ["12.0.140", "12.9.86"])
def test_k1_each_option_with_an_older_library(release, monkeypatch):
    monkeypatch.setenv("CUDALINK_NVJITLINK", str(nvjitlink(release)))
    codes = [ObjectCode.from_ptx(read(name, "12.0"), name=name) for name in ("kernel.ptx", "helper.ptx")]
    for options in K1:
        linker = compat.Linker(*codes, options=LinkerOptions(arch="sm_80", **options))
        if release == "12.0.140" and {"split_compile", "split_compile_extended"} & {*options}:
            with pytest.raises(ValueError, match="12.3"):
                linker.link("cubin")
        else:
            assert linker.link("cubin").code.startswith(b"\x7fELF"), options


@pytest.mark.parametrize("options", [{"split_compile_extended": 1}, {"link_time_optimization": True}], ids=str)
def test_k1_ltoir_links_with_each_option(options):
    assert core_link("ltoir", **options).code.startswith(b"\x7fELF")


@pytest.mark.parametrize("names", ["value", ["value", "other"], ("value", "other")], ids=str)
def test_k1_variables_used(names):
    source = 'extern "C" { __device__ int value = 3; __device__ int other = 4; __global__ void k(int *out) { *out = value + other; } }'
    code = ObjectCode.from_ptx(compiled(source, "ptx"))
    options = LinkerOptions(arch="sm_80", variables_used=names, kernels_used="k")
    assert compat.Linker(code, options=options).link("cubin").code.startswith(b"\x7fELF")


def test_k2_an_arch_that_is_none():
    with pytest.raises(nvJitLinkError) as caught:
        compat.Linker(ObjectCode.from_ptx(read("kernel.ptx")), options=LinkerOptions(arch="99", ptx=True))
    assert isinstance(caught.value, cudalink.OptionError) and caught.value.result == "bad_arch"


def test_k3_ltoir_to_ptx_with_the_name_of_the_options():
    linked = core_link("ltoir", "ptx", link_time_optimization=True, ptx=True, name="A_linked")
    assert (linked.code_type, linked.name) == ("ptx", "A_linked") and b".entry _Z1Av" in linked.code


def test_k4_ptx_from_bytes():
    codes = [ObjectCode.from_ptx(read(name)) for name in ("kernel.ptx", "helper.ptx")]
    assert compat.Linker(*codes, options=LinkerOptions(arch="sm_80")).link("cubin").code_type == "cubin"


@pytest.mark.parametrize("target", ["fatbin", "CUBIN", "", 5])
def test_k5_an_unknown_target(target):
    with pytest.raises(ValueError, match="^Unsupported target type: %s$" % target):
        core_link("ptx", target)


def test_k6_no_inputs_and_what_is_no_object_code():
    with pytest.raises(ValueError, match="^At least one ObjectCode object must be provided$"):
        compat.Linker(options=LinkerOptions(arch="sm_80"))
    with pytest.raises(TypeError, match="^Expected type ObjectCode, but got bytes$"):
        compat.Linker(read("kernel.ptx"), options=LinkerOptions(arch="sm_80"))
    refused("no_inputs", [])


def test_k7_an_undefined_function_is_named_with_its_unit():
    code = compiled("extern __device__ int Z(); __global__ void A() { int result = Z(); if (result) __trap(); }", "ptx")
    linker = compat.Linker(ObjectCode.from_ptx(code, name="CBA"), options=LinkerOptions(arch="sm_80"))
    with pytest.raises(nvJitLinkError) as caught:
        linker.link("cubin")
    assert isinstance(caught.value, cudalink.LinkError)
    (found,) = caught.value.diagnostics
    assert (found.symbol, found.input) == ("_Z1Zv", "CBA") and "_Z1Zv" in str(caught.value) and "CBA" in str(caught.value)
    assert isinstance(linker.get_error_log(), str)


def test_k8_logs_are_text_and_stay():
    linker = compat.Linker(*[ObjectCode.from_ltoir(path.read_bytes()) for path in LTO_PAIR], options=LinkerOptions(arch="sm_80"))
    linker.link("cubin")
    assert linker.get_info_log() == linker.get_info_log() != "" and linker.get_error_log() == linker.get_error_log() == ""
    assert "\0" not in linker.get_info_log()


def test_k9_a_closed_linker():
    linker = compat.Linker(*[ObjectCode.from_ltoir(path.read_bytes()) for path in LTO_PAIR], options=LinkerOptions(arch="sm_80"))
    linker.link("cubin")
    log = linker.get_info_log()
    linker.close()
    linker.close()
    assert linker and linker.is_closed and linker.get_info_log() == log
    with pytest.raises(RuntimeError, match="^Linker has been closed$"):
        linker.link("cubin")


def test_k10_a_handle():
    linker = compat.Linker(ObjectCode.from_ptx(read("helper.ptx")), options=LinkerOptions(arch="sm_80"))
    assert int(linker.handle) != 0


def test_k12_how_flags_are_written():
    options = LinkerOptions(arch="sm_80", debug=True, ftz=True, max_register_count=32)
    assert {b"-arch=sm_80", b"-g", b"-ftz=true", b"-maxrregcount=32"} == set(options.as_bytes("nvjitlink"))
    for backend in ("invalid", "driver"):
        with pytest.raises(ValueError, match=r"^as_bytes\(\) only supports 'nvjitlink' backend, got '%s'$" % backend):
            options.as_bytes(backend)
    for incremental, count in [(None, 0), (False, 0), (True, 1)]:
        assert LinkerOptions(arch="sm_80", incremental=incremental).as_bytes().count(b"-r") == count
        assert link(PAIR, relocatable=incremental).plan["options"].count("-r") == count


@pytest.mark.parametrize("value", [True, False, None])
def test_k14_numba_debug_warns_and_does_nothing(value, recwarn):
    options = LinkerOptions(arch="sm_80", numba_debug=value)
    assert [warning.category for warning in recwarn] == ([] if value is None else [DeprecationWarning])
    assert all("numba_debug is not supported by any linking backend" in str(warning.message) for warning in recwarn)
    assert options.as_bytes() == [b"-arch=sm_80"]


def test_k15_the_backend(monkeypatch):
    assert compat.Linker.which_backend() == "nvJitLink"
    monkeypatch.setenv("CUDALINK_NVJITLINK", "/nowhere/libnvJitLink.so")
    for _ in range(2):
        with pytest.raises(cudalink.LibraryError, match="/nowhere/libnvJitLink.so"):
            compat.Linker.which_backend()
    refused("library_unusable", PAIR)
    monkeypatch.delenv("CUDALINK_NVJITLINK")
    # A failure is not remembered.
    assert link(PAIR).kernels == ("kernel",)


@pytest.mark.parametrize(("release", "options", "needed"), [
    ("12.9.86", {"relocatable": True}, "13.0"), ("12.4.127", {"fast_compile": "max"}, "12.5"),
    ("13.0.88", {"output": "ltoir"}, "13.4"),
], ids=str)
def test_k16_a_version_guard_names_both(release, options, needed):
    library = nvjitlink(release)
    inputs = [fixture_file("kernel.ltoir", "12.0"), fixture_file("helper.ltoir", "12.0")]
    error = refused("unsupported_option", inputs, library_path=library, **options)
    assert needed in str(error) and release.rsplit(".", 1)[0] in str(error)


def nvjitlink(release):
    found = list(FIXTURES.parents[1].glob("target/nvidia/nvjitlink-%s/nvidia/*/lib/libnvJitLink.so.*" % release))
    if not found:
        pytest.skip("scripts/test fetches nvJitLink " + release)
    return found[0]


@pytest.mark.parametrize("release", ["12.0.140", "12.4.127", "12.9.86", "13.0.88", "13.5.37"])
@pytest.mark.parametrize("kind", ["ptx", "ltoir", "cubin", "fatbin", "o", "lto.o"])
def test_each_release_links_each_kind(release, kind):
    inputs = [fixture_file("%s.%s" % (name, kind), "12.0") for name in ("kernel", "helper")]
    assert link(inputs, library_path=nvjitlink(release)).kernels == ("kernel",)


@pytest.mark.parametrize(("kind", "partial_kind"), [("ptx", "cubin"), ("ltoir", "ltoir"), ("ltoir", "cubin")])
def test_k17_k18_k20_incremental_by_the_option_of_cuda_core(kind, partial_kind):
    lto = kind == "ltoir"
    caller, helper = (getattr(ObjectCode, "from_" + kind)(read("%s.%s" % (name, kind)), name=name) for name in ("kernel", "helper"))
    options = LinkerOptions(arch="sm_80", incremental=True, link_time_optimization=lto)
    partial = compat.Linker(caller, options=options).link(partial_kind)
    assert partial.code_type == partial_kind and (lto or elf_type(partial.code) == 1)
    final = compat.Linker(partial, helper, options=LinkerOptions(arch="sm_80", link_time_optimization=lto)).link("cubin")
    assert elf_type(final.code) == 2 and cudalink.describe(final.code)["parts"]


def test_k17_incremental_cubin():
    partial = link([PAIR[0]], relocatable=True)
    assert elf_type(partial.cubin) == 1
    final = link([partial.cubin, PAIR[1]])
    assert elf_type(final.cubin) == 2 and final.kernels == ("kernel",)
    both = link([partial.cubin, PAIR[1]], relocatable=True)
    assert elf_type(both.cubin) == 1 and link([both.cubin]).kernels == ("kernel",)


def test_k18_incremental_ltoir():
    first = link([LTO_PAIR[0]], relocatable=True, lto=True, output="ltoir")
    second = link([first.ltoir, LTO_PAIR[1]], relocatable=True, lto=True, output="ltoir")
    assert link([second.ltoir], lto=True).kernels == ("kernel",)


def test_k19_by_way_of_ltoir_is_the_same():
    whole = link(LTO_PAIR, output="ltoir")
    assert link([whole.ltoir]).cubin == link(LTO_PAIR).cubin


def test_k20_a_partial_cubin_of_ltoir():
    partial = link([LTO_PAIR[0]], relocatable=True, lto=True)
    assert elf_type(partial.cubin) == 1
    assert link([partial.cubin, LTO_PAIR[1]], lto=True).kernels == ("kernel",)


@pytest.mark.parametrize("other", ["ptx", "cubin"])
def test_k21_ltoir_of_what_is_not(other):
    refused("not_ltoir", [LTO_PAIR[0], fixture_file("helper." + other)], output="ltoir")


@pytest.mark.parametrize("other", ["ptx", "cubin"])
def test_k21_what_cuda_core_refuses_in_its_words(other):
    not_ltoir = getattr(ObjectCode, "from_" + other)(read("helper." + other))
    ltoir = ObjectCode.from_ltoir(read("kernel.ltoir"))
    for target, options, words in [
        ("ltoir", {"link_time_optimization": True}, 'LTOIR output is not supported with "ptx" or "cubin" inputs'),
        ("ltoir", {"link_time_optimization": True, "incremental": True}, 'LTOIR output is not supported with "ptx" or "cubin" inputs'),
        ("ltoir", {}, "LTOIR output requires link_time_optimization=True"),
        ("ptx", {"incremental": True}, "PTX output is not supported for incremental linking"),
        ("ptx", {"incremental": True, "ptx": True}, "incremental and ptx output options cannot be used together"),
    ]:
        with pytest.raises(ValueError) as caught:
            codes = [ltoir, not_ltoir] if options else [not_ltoir]
            compat.Linker(*codes, options=LinkerOptions(arch="sm_80", **options)).link(target)
        assert str(caught.value) == words


@pytest.mark.parametrize("options", [{"output": "ltoir", "lto": False}, {"output": "ptx", "relocatable": True}], ids=str)
def test_k21_outputs_that_options_exclude(options):
    with pytest.raises(ValueError) as caught:
        link(LTO_PAIR, **options)
    assert caught.value.result == "incompatible_options"


def test_k22_what_cannot_be_is_refused_without_a_library(monkeypatch):
    """No nvJitLink could be opened here: each of these is told before."""
    monkeypatch.setenv("CUDALINK_NVJITLINK", "/nowhere/libnvJitLink.so")
    with pytest.raises(ValueError):
        link([read("kernel.ltoir")[:3]])
    refused("no_inputs", [])
    refused("incompatible_options", LTO_PAIR, output="ptx", relocatable=True)
    refused("incompatible_options", LTO_PAIR, output="ltoir", lto=False)
    refused("not_ltoir", PAIR, output="ptx")


ARCHES = ["75", "80", "90", "100"]


@pytest.mark.parametrize(("option", "result"), [("-fictitious", "unknown_option"), ("-arch=sm_XX", "bad_arch")])
@pytest.mark.parametrize("arch", ARCHES)
def test_b1_unknown_options(arch, option, result):
    refused(result, PAIR, arch=None if "arch" in option else "sm_" + arch, flags=[option])


@pytest.mark.parametrize("arch", ARCHES)
def test_b2_create_and_destroy(arch):
    with cudalink.Linker("sm_" + arch) as linker:
        assert linker.handle != 0
    assert linker.handle == 0


def test_b3_p5_nothing_to_link_is_an_error():
    """nvJitLink gives a cubin with nothing in it."""
    refused("no_inputs", [])


PTX = """
.version %s
.target sm_%s
.address_size 64
.visible .entry nothing()
{
  ret;
}
"""


@pytest.mark.parametrize(("arch", "version"), [("75", "6.4"), ("80", "7.0"), ("90", "8.5"), ("100", "8.6")])
def test_b4_b5_b6_ptx_as_anything(arch, version, tmp_path):
    ptx = (PTX % (version, arch)).encode()
    named = tmp_path / "named.cubin"
    named.write_bytes(ptx)
    for data in (ptx, ptx + b"\0", named):
        output = link([data], arch="sm_" + arch)
        assert output.kernels == ("nothing",) and (output.logs.error, output.logs.info) == ("", "")


@pytest.mark.parametrize("arch", ARCHES)
def test_b7_ltoir_to_ptx(arch):
    ptx = link([compiled(source, "ltoir", "75") for source in TRIO.values()], arch="sm_" + arch, lto=True, output="ptx").ptx
    assert ptx.rstrip().endswith(b"}") and b"\0" not in ptx


def test_b8_a_version():
    version = cudalink.query_library().version
    assert len(version) == 2 and version >= (12, 0)
    old = cudalink.query_library(nvjitlink("12.0.140"))
    assert not old.has_version and old.version == (12, 0)


def test_n1_make_and_drop():
    for _ in range(100):
        cudalink.Linker("sm_80")


def test_n7_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="nonexistent.a"):
        link(["nonexistent.a"])


@pytest.mark.parametrize("kind", ["ptx", "ltoir"])
def test_n9_max_registers(kind):
    used = [registers(link([compiled(HUNGRY, kind)], max_register_count=limit).cubin)["hungry"] for limit in (None, 57, 38)]
    # Registers are handed out by eight.
    assert used[0] > 57 and used[1] <= 57 and used[2] <= 38, used


def test_n11_a_debug_kernel_with_ltoir():
    kernel = compiled('extern "C" __device__ int helper(int); extern "C" __global__ void k(int *o) { *o = helper(*o); }', "ptx", "80", "-G")
    output = link([kernel, LTO_PAIR[1]], debug=True)
    assert output.kernels == ("k",) and "-lto" in output.plan["options"]


def test_n12_for_an_arch_that_is_not_here():
    ptx = link([compiled(source, "ltoir", "75") for source in TRIO.values()], arch="compute_75", output="ptx").ptx
    assert b".target sm_75" in ptx


KINDS = [("library", "libhelper.a"), ("cubin", "helper.cubin"), ("fatbin", "helper.fatbin"), ("object", "helper.o"), ("ptx", "helper.ptx"),
         ("ltoir", "helper.ltoir")]


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_n13_each_kind_by_file_and_by_bytes(kind, name):
    assert cudalink.describe(fixture_file(name))["kind"] == kind
    for given in (kind, None):
        for data in (fixture_file(name), read(name)):
            with cudalink.Linker("sm_80") as linker:
                linker.add(PAIR[0])
                linker.add(data, given)
                assert linker.link().kernels == ("kernel",)


@pytest.mark.parametrize("lto", [True, None])
@pytest.mark.parametrize("name", [name for _, name in KINDS])
def test_n14_each_kind_with_lto_and_without(name, lto):
    output = link([LTO_PAIR[0] if lto else PAIR[0], fixture_file(name)], lto=lto)
    assert output.kernels == ("kernel",) and ("-lto" in output.plan["options"]) == (lto is True or name == "helper.ltoir")


@pytest.mark.parametrize("name", ["helper.lto.o", "helper.lto.fatbin", "libhelper.lto.a"])
def test_n15_lto_ir_in_a_container_is_used(name):
    ptx = link([LTO_PAIR[0], fixture_file(name)], output="ptx").ptx
    assert b"call" not in ptx


@pytest.mark.parametrize("name", ["helper.o", "helper.cubin", "helper.fatbin", "libhelper.a", "helper.ptx"])
def test_n15_what_cannot_be_optimized_is_told(name):
    assert refused("not_ltoir", [LTO_PAIR[0], fixture_file(name)], output="ptx").diagnostics[0].input.startswith(str(fixture_file(name)))


def test_n16_an_object_code_is_taken_as_it_is():
    code = ObjectCode.from_ptx(read("helper.ptx"))
    assert compat.Linker(code, options=LinkerOptions(arch="sm_80"))._codes[0] is code


def test_n17_lto_inlines_the_function():
    ptx = link(LTO_PAIR, output="ptx").ptx
    assert b"call" not in ptx and b".func" not in ptx


def test_n18_ltoir_without_nvjitlink(monkeypatch):
    monkeypatch.setenv("CUDALINK_NVJITLINK", "/nowhere/libnvJitLink.so")
    with pytest.raises(RuntimeError, match="nvJitLink"):
        link(LTO_PAIR)


def test_p1_mistakes_in_options():
    refused("missing_arch", PAIR, arch=None)
    refused("bad_arch", PAIR, arch="sm_XX")
    refused("bad_arch", PAIR, arch="sm_00")
    refused("unsupported_arch", PAIR, arch="sm_99")
    refused("unknown_option", PAIR, flags=["--fictitious-option"])
    for flags in ([5], [None], 5):
        with pytest.raises(TypeError):
            cudalink.Linker("sm_80", flags=flags)
    with pytest.raises(TypeError):
        cudalink.Linker((8, 0))


@pytest.mark.parametrize(("name", "flags"), [
    ("helper.cubin", []), ("helper.fatbin", []), ("helper.ptx", []), ("helper.o", []), ("libhelper.a", []), ("helper.lto.o", ["-lto"]),
])
def test_p2_each_kind_is_taken(name, flags):
    assert link([fixture_file("kernel.ltoir" if flags else "kernel.ptx"), fixture_file(name)], flags=flags).kernels == ("kernel",)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_p3_a_fatbin_for_either_arch(arch):
    assert link([FIXTURES / "wide" / "multi.fatbin"], arch=arch).kernels == ("kernel",)


def test_p3_an_arch_that_is_not_in_it():
    refused("arch_mismatch", [fixture_file("kernel.cubin"), fixture_file("helper.cubin")], arch="sm_90")
    refused("arch_mismatch", [FIXTURES / "wide" / "multi.fatbin"], arch="sm_75")


@pytest.mark.parametrize(("name", "kind"), [("helper.cubin", "fatbin"), ("helper.fatbin", "cubin")])
def test_p3_a_kind_that_it_is_not(name, kind):
    with cudalink.Linker("sm_80") as linker, pytest.raises(cudalink.InputError) as caught:
        linker.add(fixture_file(name), kind)
    assert caught.value.result == "wrong_input_kind" and kind in str(caught.value)


def test_p4_duplicate_symbols():
    error = refused("duplicate_symbol", [fixture_file("kernel.cubin"), fixture_file("helper.cubin"), fixture_file("helper.fatbin")])
    assert error.diagnostics[0].symbol == "helper"


def test_p6_a_cubin_and_nothing_before_the_link():
    assert link(PAIR).cubin[:4] == b"\x7fELF"
    with cudalink.Linker("sm_80") as linker:
        linker.add(PAIR[0])
        assert (linker.plan, linker.diagnostics, linker.logs) == (None, (), ("", ""))


def test_p7_an_undefined_function_of_a_cubin():
    code = compiled("extern __device__ float undef(float, float); __global__ void k(float *x) { *x = undef(*x, *x); }", "cubin")
    error = refused("unresolved_symbol", [("undefined_extern.cubin", code)])
    assert "_Z5undefff" in str(error) and "undefined_extern.cubin" in str(error)


def test_p8_a_clean_link_has_an_empty_log():
    assert link(PAIR).logs == ("", "")


@pytest.mark.parametrize("output", ["cubin", "ptx"])
def test_p9_lto_objects(output):
    assert link([fixture_file("kernel.lto.o"), fixture_file("helper.lto.o")], flags=["-lto"], output=output).kernels == ("kernel",)


@pytest.mark.parametrize("registers", [None, 32])
@pytest.mark.parametrize("lineinfo", [None, True])
@pytest.mark.parametrize("lto", [None, True])
@pytest.mark.parametrize("flags", [[], ["-g"], ["-time"]], ids=str)
def test_p10_each_flag_if_it_was_asked_for(registers, lineinfo, lto, flags):
    given = link(LTO_PAIR if lto else PAIR, max_register_count=registers, lineinfo=lineinfo, lto=lto, flags=flags).plan["options"]
    for flag, asked in [("-maxrregcount=32", registers), ("-lineinfo", lineinfo), ("-lto", lto), ("-g", "-g" in flags), ("-time", "-time" in flags)]:
        assert given.count(flag) == bool(asked), flag
