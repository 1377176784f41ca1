"""Links files for an architecture: link.py sm_80 out.cubin kernel.ptx helper.ptx"""
import sys

import cudalink


def main(arch: str, output: str, *inputs: str) -> int:
    try:
        with cudalink.Linker(arch=arch) as linker:
            for path in inputs:
                linker.add(path)
            linked = linker.link()
    except cudalink.CudalinkError as error:
        print("%s: %s" % (error.result, error), file=sys.stderr)
        return 1
    with open(output, "wb") as file:
        file.write(linked.cubin)
    print("linked %d bytes: %s" % (len(linked.cubin), ", ".join(linked.kernels)))
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
