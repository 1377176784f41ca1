"""capi.pxd declares what cudalink.h does."""
import re
from pathlib import Path

import pytest

import cudalink

HEADER = Path(cudalink.get_include(), "cudalink.h").read_text()
PXD = Path(cudalink.__file__).with_name("capi.pxd").read_text()


def words(text):
    return " ".join(re.findall(r"\w+|\*", text))


def of_header(header):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.DOTALL)
    functions = {
        match[2]: (words(match[1]), tuple(words(part) for part in match[3].replace("struct ", "").split(",")))
        for match in re.finditer(r"^((?:const char \*|\w+ ))(\w+)\(([^)]*)\);", text, re.MULTILINE)
    }
    structs = {
        match[1]: [words(line) for line in match[2].split(";") if line.strip()]
        for match in re.finditer(r"typedef struct (\w+) \{(.*?)\}", text, re.DOTALL)
    }
    constants = set(re.findall(r"^\s*(CL_\w+) = \d+,", text, re.MULTILINE))
    constants |= set(re.findall(r"^#define (\w+) \(?-?\d+\)?$", text, re.MULTILINE))
    types = dict((match[2], match[1]) for match in re.finditer(r"^typedef (u?int32_t) (\w+);", text, re.MULTILINE))
    return functions, structs, constants, types


def of_pxd(pxd):
    text = re.search(r'cdef extern from "cudalink.h":\n(.*?)\n(?=\S)', pxd, re.DOTALL)[1]
    functions = {
        match[2]: (words(match[1]), tuple(words(part) for part in (match[3] or "void").split(",")))
        for match in re.finditer(r"^    ((?:const char \*|\w+ ))(\w+)\(([^)]*)\) noexcept nogil$", text, re.MULTILINE)
    }
    structs = {
        match[1]: [words(line) for line in match[2].splitlines() if line.strip() and line.strip() != "pass"]
        for match in re.finditer(r"^    ctypedef struct (\w+):\n((?:        .*\n)+)", text + "\n", re.MULTILINE)
    }
    del structs["cl_linker"]
    constants = set(re.findall(r"^        ([A-Z]\w+)$", text, re.MULTILINE))
    types = dict((match[2], match[1]) for match in re.finditer(r"^    ctypedef (u?int32_t) (\w+)$", text, re.MULTILINE))
    return functions, structs, constants, types


def test_all_of_the_header_is_declared():
    functions, structs, constants, types = of_header(HEADER)
    assert len(functions) >= 15 and len(structs) >= 3 and len(constants) >= 70 and len(types) >= 9
    assert functions["cl_result_string"] == ("const char *", ("int32_t result",))
    assert of_pxd(PXD) == (functions, structs, constants, types | {"cl_result": "int32_t"})


@pytest.mark.parametrize(("old", "new"), [
    ("cl_linker_complete(cl_linker *linker) noexcept nogil", "cl_linker_complete(const cl_linker *linker) noexcept nogil"),
    ("cl_linker_destroy(cl_linker *linker) noexcept nogil", "cl_linker_destroy(cl_linker *linker)"),
    ("        uint32_t has_linked_ltoir\n", ""),
    ("        int32_t backend_code", "        uint32_t backend_code"),
    ("        CL_RESULT_PANIC\n", ""),
    ("ctypedef uint32_t cl_severity", "ctypedef int32_t cl_severity"),
])
def test_a_difference_is_seen(old, new):
    assert PXD.count(old) == 1
    assert of_pxd(PXD.replace(old, new)) != of_pxd(PXD)


def test_each_option_is_a_keyword():
    """The keywords of Linker in the stubs, which are checked against the module, are the fields of the structure."""
    fields = [field.split()[-1] for field in of_header(HEADER)[1]["cl_linker_options"]]
    fields = [field for field in fields if not field.endswith("_count") or field == "max_register_count"]
    stub = Path(cudalink.__file__).with_name("_cudalink.pyi").read_text()
    keywords = re.findall(r"^        (\w+): .* = \S+,$", stub, re.MULTILINE)
    assert sorted(keywords) == sorted(set(fields) - {"struct_size", "reserved"})
    for keyword in keywords:
        with cudalink.Linker(**{keyword: "cubin" if keyword == "output" else None}):
            pass
    assert cudalink.Linker.__doc__.startswith("Linker(arch=None, ") and all(keyword + "=" in cudalink.Linker.__doc__ for keyword in keywords)
