"""Compiles two units with NVRTC to LTO-IR and links them into one cubin. Needs the wheel nvidia-cuda-nvrtc or a toolkit, and no GPU."""
import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path

import cudalink

KERNEL = """
__device__ float scale(float);
extern "C" __global__ void apply(float *data, int count) {
  int index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) data[index] = scale(data[index]);
}
"""
HELPER = "__device__ float scale(float value) { return 3.0f * value; }"

RESULTS = {"ltoir": "LTOIR", "ptx": "PTX", "cubin": "CUBIN"}


def load_nvrtc() -> ctypes.CDLL:
    """The newest NVRTC of the wheels on the module path, which does not find its builtins by itself, or else the system's."""
    folders = [Path(entry, "nvidia") for entry in sys.path]
    found = sorted((path for folder in folders for path in folder.glob("*/lib/libnvrtc.so.*")), reverse=True)
    if not found:
        for name in ("libnvrtc.so.13", "libnvrtc.so.12"):
            try:
                return ctypes.CDLL(name)
            except OSError:
                pass
        raise FileNotFoundError("no NVRTC: pip install nvidia-cuda-nvrtc")
    for builtins in found[0].parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(found[0]))


def compile_unit(source: str, options: Sequence[str], kind: str = "ltoir") -> bytes:
    """What NVRTC makes of a unit: LTO-IR with -dlto, PTX, or a cubin with -arch=sm_XX."""
    nvrtc = load_nvrtc()
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"unit.cu", 0, None, None)
    texts = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(options), texts)
        size = ctypes.c_size_t()
        if status:
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise RuntimeError(log.value.decode())
        getattr(nvrtc, "nvrtcGet%sSize" % RESULTS[kind])(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        getattr(nvrtc, "nvrtcGet" + RESULTS[kind])(program, code)
        return code.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def main(arch: str = "sm_80") -> None:
    options = ["-arch=" + arch.replace("sm_", "compute_"), "-dlto"]
    with cudalink.Linker(arch=arch, required_kernels="apply") as linker:
        linker.add(compile_unit(KERNEL, options), name="kernel")
        linker.add(compile_unit(HELPER, options), name="helper")
        output = linker.link()
    print("linked %d bytes for %s: %s" % (len(output.cubin), arch, ", ".join(output.kernels)))
    for decision in output.plan["decisions"]:
        print("  %s %s: %s" % (decision["action"], decision["option"], decision["reason"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
