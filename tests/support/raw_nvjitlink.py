"""Links with a raw nvJitLink, the yardstick of the tests.

usage: raw_nvjitlink.py LIBRARY OUTPUT cubin|ptx|ltoir OPTION... KIND:FILE...

Writes the output and prints "ok", or prints the call that failed and its code. The library may end the process.
"""
import ctypes
import sys

KINDS = {"cubin": 1, "ptx": 2, "ltoir": 3, "fatbin": 4, "object": 5, "library": 6}
GETTERS = {"cubin": "LinkedCubin", "ptx": "LinkedPtx", "ltoir": "LinkedLTOIR"}


def main(path, output, wanted, *arguments):
    library = ctypes.CDLL(path)

    def call(name, *values):
        plain = getattr(library, "nvJitLink" + name, None)
        suffixed = ("__nvJitLink%s_12_%d" % (name, minor) for minor in (2, 1, 0))
        function = plain or next(getattr(library, s) for s in suffixed if hasattr(library, s))
        code = function(*values)
        if code:
            print("%s %d" % (name, code), flush=True)
            sys.exit(0)

    options = [argument.encode() for argument in arguments if argument.startswith("-")]
    handle = ctypes.c_void_p()
    call("Create", ctypes.byref(handle), len(options), (ctypes.c_char_p * len(options))(*options))
    kept = []  # nvJitLink keeps the address of a name, and 12.0 to some release also that of a cubin.
    for argument in arguments:
        if argument.startswith("-"):
            continue
        kind, file = argument.split(":", 1)
        data = open(file, "rb").read() + (b"\0" if kind == "ptx" else b"")
        name = ctypes.create_string_buffer(file.encode())
        kept += [data, name]
        call("AddData", handle, KINDS[kind], data, ctypes.c_size_t(len(data)), name)
    call("Complete", handle)
    size = ctypes.c_size_t()
    call("Get%sSize" % GETTERS[wanted], handle, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    call("Get%s" % GETTERS[wanted], handle, buffer)
    with open(output, "wb") as file:
        file.write(buffer.raw)
    print("ok")


main(*sys.argv[1:])
