"""Cubins that cudalink linked run and give the right numbers. Needs a driver and a device, which are asked by ctypes."""
import ctypes
import sys
from pathlib import Path

import pytest

import cudalink

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conftest import LTO_PAIR, PAIR, compiled, fixture_file, link, trio  # noqa: E402


class Device:
    """The first device, through libcuda."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.version = version.value // 1000, version.value % 1000 // 10
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
        self.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
        self.arch = "sm_%d%d" % (major.value, minor.value)
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise OSError("%s answered %d" % (name, status))

    def run(self, cubin, kernel, *values):
        """Loads a cubin, and gives the int that the kernel writes to its first parameter."""
        module, function, memory, result = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_int(-1)
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        try:
            self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
            self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4))
            parameters = [memory, *map(ctypes.c_int, values)]
            pointers = (ctypes.c_void_p * len(parameters))(*(ctypes.addressof(parameter) for parameter in parameters))
            self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, pointers, None)
            self.call("cuCtxSynchronize")
            self.call("cuMemcpyDtoH_v2", ctypes.byref(result), memory, ctypes.c_size_t(4))
            self.call("cuMemFree_v2", memory)
        finally:
            self.call("cuModuleUnload", module)
        return result.value


@pytest.fixture(scope="module")
def device():
    try:
        return Device()
    except (OSError, AttributeError) as error:
        pytest.skip("no device: %s" % error)


# The fixtures' kernel gives helper(value), which is 2 * value + 1.

@pytest.mark.parametrize("name", ["helper.ptx", "helper.ltoir", "helper.lto.o", "helper.lto.fatbin", "libhelper.lto.a", "helper.fatbin", "helper.o",
                                  "libhelper.a"])
@pytest.mark.parametrize("lto", [True, None])
def test_n14_each_kind_runs(device, name, lto):
    kernel = LTO_PAIR[0] if lto else PAIR[0]
    assert device.run(link([kernel, fixture_file(name)], arch=device.arch).cubin, "kernel", 20) == 41


def test_k3_k4_the_trio_loads(device):
    for kind in ("ptx", "ltoir"):
        cubin = link(trio(kind), arch=device.arch).cubin
        module = ctypes.c_void_p()
        device.call("cuModuleLoadData", ctypes.byref(module), cubin)
        device.call("cuModuleUnload", module)


def test_k11_the_driver_links_again_and_again(device):
    for _ in range(3):
        assert device.run(link(PAIR, arch=device.arch, backend="driver").cubin, "kernel", 20) == 41
        with cudalink.Linker(device.arch, backend="driver") as linker:
            linker.add(PAIR[0])
            with pytest.raises(cudalink.LinkError) as caught:
                linker.link()
        assert caught.value.result == "unresolved_symbol" and "Undefined reference to 'helper'" in linker.logs.error


def test_k13_options_of_the_driver(device):
    output = link(PAIR, arch=device.arch, backend="driver", optimization=2, max_register_count=32, lineinfo=True, verbose=True)
    expected = ["TARGET=" + device.arch[3:], "OPTIMIZATION_LEVEL=2", "GENERATE_LINE_INFO=1", "MAX_REGISTERS=32", "LOG_VERBOSE=1"]
    assert output.plan["options"] == ["CU_JIT_" + option for option in expected] and "registers" in output.logs.info
    for option in ("no_cache", "ftz", "prec_div", "time", "optimize_unused_variables", "relocatable", "lto"):
        with pytest.raises(cudalink.OptionError) as caught:
            link(PAIR, arch=device.arch, backend="driver", **{option: True})
        assert caught.value.result == "unsupported_option"


def test_k17_an_incremental_link_runs(device):
    caller = compiled('extern "C" __device__ int answer(); extern "C" __global__ void call(int *out) { *out = answer(); }', "ptx")
    helper = compiled('extern "C" __device__ int answer() { return 42; }', "ptx")
    partial = link([caller], arch=device.arch, relocatable=True).cubin
    whole = link([partial, helper], arch=device.arch, relocatable=True).cubin
    assert device.run(link([whole], arch=device.arch).cubin, "call") == 42


def needs_nvjitlink(*version):
    if cudalink.query_library().version < version:
        pytest.skip("needs nvJitLink %d.%d" % version)


def test_k18_an_incremental_link_of_ltoir_runs(device):
    needs_nvjitlink(13, 4)
    first = link([LTO_PAIR[0]], arch=device.arch, relocatable=True, lto=True, output="ltoir").ltoir
    second = link([first, LTO_PAIR[1]], arch=device.arch, relocatable=True, lto=True, output="ltoir").ltoir
    assert device.run(link([second], arch=device.arch, lto=True).cubin, "kernel", 20) == 41


def test_k20_a_partial_cubin_of_ltoir_runs(device):
    needs_nvjitlink(13, 3)
    partial = link([LTO_PAIR[0]], arch=device.arch, relocatable=True, lto=True).cubin
    assert device.run(link([partial, LTO_PAIR[1]], arch=device.arch, lto=True).cubin, "kernel", 20) == 41


def test_the_ptx_of_a_link_runs(device):
    if cudalink.query_library().version > device.version:
        pytest.skip("the driver is of CUDA %d.%d, and does not compile the PTX of a later nvJitLink" % device.version)
    assert device.run(link(LTO_PAIR, arch=device.arch, output="ptx").ptx, "kernel", 20) == 41


def test_the_cubin_of_cuda_core_s_names_runs_as_its_own(device):
    pytest.importorskip("cuda.core")
    from cuda.core import Device as CoreDevice
    from cuda.core import LaunchConfig, launch

    from cudalink.compat import Linker, LinkerOptions, ObjectCode

    core = CoreDevice()
    core.set_current()
    codes = [ObjectCode.from_ltoir(path.read_bytes(), name=path.name) for path in LTO_PAIR]
    kernel = Linker(*codes, options=LinkerOptions()).link("cubin").get_kernel("kernel")
    memory = core.allocate(4, stream=core.default_stream)
    launch(core.default_stream, LaunchConfig(grid=1, block=1), kernel, memory.handle, ctypes.c_int(20))
    core.default_stream.sync()
    result = ctypes.c_int()
    device.call("cuMemcpyDtoH_v2", ctypes.byref(result), ctypes.c_uint64(int(memory.handle)), ctypes.c_size_t(4))
    assert result.value == 41
