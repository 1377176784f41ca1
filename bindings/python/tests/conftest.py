"""What the tests share."""
import functools
import sys
from pathlib import Path

import pytest

import cudalink

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests" / "fixtures"
sys.path.insert(0, str(ROOT / "examples" / "python"))

import jit  # noqa: E402

# A kernel that calls two functions, each in a unit of its own, as the suites of the peers have it.
TRIO = {
    "A": "extern __device__ int B(); extern __device__ int C(int a, int b);\n__global__ void A() { int result = C(B(), 1); }",
    "B": "__device__ int B() { return 0; }",
    "C": "__device__ int C(int a, int b) { return a + b; }",
}

# A kernel that takes many registers, and some time to compile.
HUNGRY = """
extern "C" __global__ void hungry(float *data, int rounds) {
  float value[64];
  #pragma unroll
  for (int i = 0; i < 64; i++) value[i] = data[i + threadIdx.x];
  for (int round = 0; round < rounds; round++) {
    #pragma unroll
    for (int i = 0; i < 64; i++) value[i] = value[i] * value[(i + 7) % 64] + value[(i + 31) % 64];
  }
  #pragma unroll
  for (int i = 0; i < 64; i++) data[i + threadIdx.x] = value[i];
}
"""


def fixture_file(name, release="13.0"):
    return FIXTURES / release / name


def read(name, release="13.0"):
    return fixture_file(name, release).read_bytes()


@functools.cache
def compiled(source, kind, arch="80", *options):
    """What NVRTC makes of a source, which can be linked."""
    target = ["-arch=%s_%s" % ("sm" if kind == "cubin" else "compute", arch), "-dlto" if kind == "ltoir" else "-rdc=true"]
    return jit.compile_unit(source, [*target, *options], kind)


def trio(kind):
    return [(name, compiled(source, kind)) for name, source in TRIO.items()]


def link(inputs, **options):
    """Links inputs, which are paths, or bytes, or a name and bytes."""
    with cudalink.Linker(**{"arch": "sm_80", **options}) as linker:
        for item in inputs:
            name, data = item if isinstance(item, tuple) else (None, item)
            linker.add(data, name=name)
        return linker.link()


def refused(result, inputs, **options):
    """The error of a link that must fail with this result."""
    with pytest.raises(cudalink.CudalinkError) as caught:
        link(inputs, **options)
    assert caught.value.result == result, caught.value
    return caught.value


PAIR = [fixture_file("kernel.ptx"), fixture_file("helper.ptx")]
LTO_PAIR = [fixture_file("kernel.ltoir"), fixture_file("helper.ltoir")]
