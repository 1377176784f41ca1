"""What the wheel holds, and that it works where pip put it."""
import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import cudalink
import cudalink.compat
from conftest import ROOT

PACKAGE = Path(cudalink.__file__).parent


def python(*arguments, **environment):
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True, env={**os.environ, **environment}).stdout


def test_the_version_is_the_crate_s():
    crate = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    assert cudalink.__version__ == importlib.metadata.version("cudalink") == crate


def test_one_wheel_for_each_python_from_3_11_on():
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return
    wheel = importlib.metadata.distribution("cudalink").read_text("WHEEL")
    assert re.search(r"^Tag: cp311-abi3-manylinux_2_\d+_x86_64$", wheel, re.MULTILINE), wheel


def test_the_files_are_where_they_are_said_to_be():
    assert Path(cudalink.get_include(), "cudalink.h").read_bytes() == (ROOT / "include" / "cudalink.h").read_bytes()
    assert Path(cudalink.get_library_dir(), "libcudalink.so").is_file()
    assert (PACKAGE / "py.typed").is_file() and (PACKAGE / "capi.pxd").is_file()
    assert {path.name for path in PACKAGE.parent.glob("cudalink-*/licenses/*")} == {"LICENSE-APACHE", "LICENSE-MIT"}
    for folder, target in [("cmake", cudalink.get_cmake_dir()), ("include", cudalink.get_include())]:
        for file in (ROOT / folder).rglob("*") if (ROOT / folder).is_dir() else ():
            assert Path(target, file.relative_to(ROOT / folder)).exists(), file


def test_the_extension_finds_its_library_beside_it():
    (extension,) = PACKAGE.glob("_cudalink*.so")
    dynamic = subprocess.run(["readelf", "-d", extension], check=True, capture_output=True, text=True).stdout
    assert "[libcudalink.so.0.1]" in dynamic and "runpath: [$ORIGIN/lib]" in dynamic
    library = subprocess.run(["readelf", "-d", PACKAGE / "lib" / "libcudalink.so.0.1"], check=True, capture_output=True, text=True).stdout
    assert "soname: [libcudalink.so.0.1]" in library and "NODELETE" in library
    script = "import cudalink; print([line.split(None, 5)[5] for line in open('/proc/self/maps') if 'libcudalink' in line][0], end='')"
    assert python("-c", script).strip() == str(PACKAGE / "lib" / "libcudalink.so.0.1")


def test_nvjitlink_of_the_wheel_beside_is_found():
    environment = {"VIRTUAL_ENV": "", "LD_LIBRARY_PATH": "", "CUDALINK_NVJITLINK": ""}
    found = python("-c", "import cudalink; print(*cudalink.query_library()[:2], sep='\\n')", **environment).splitlines()
    assert Path(found[0]).is_relative_to(Path(sysconfig.get_path("purelib")).resolve() / "nvidia")
    assert found[1] == "the site-packages of libcudalink"


def test_a_c_program_links_with_what_the_wheel_holds(tmp_path):
    source = tmp_path / "program.c"
    source.write_text("#include <cudalink.h>\nint main(void) { return cudalink_version_number() != CUDALINK_VERSION_NUMBER; }\n")
    library = cudalink.get_library_dir()
    subprocess.run(["cc", "-I" + cudalink.get_include(), source, "-L" + library, "-lcudalink", "-Wl,-rpath," + library, "-o", tmp_path / "a"],
                   check=True, cwd=tmp_path)
    subprocess.run(["cc", "-I" + cudalink.get_include(), source, library + "/libcudalink.so", "-Wl,-rpath," + library, "-o", tmp_path / "b"],
                   check=True, cwd=tmp_path)
    for program in ("a", "b"):
        subprocess.run([tmp_path / program], check=True)
        assert "[libcudalink.so.0.1]" in subprocess.run(["readelf", "-d", tmp_path / program], capture_output=True, text=True).stdout


def test_import_starts_and_opens_nothing():
    script = "import sys, cudalink; print('nvJitLink' in open('/proc/self/maps').read(), 'cuda.core' in sys.modules, 'numpy' in sys.modules)"
    assert python("-c", script).split() == ["False"] * 3


def test_all_public_names_are_in_all():
    for module in (cudalink, cudalink.compat, cudalink._types, cudalink._cudalink):
        assert [name for name in module.__all__ if not hasattr(module, name)] == []
    assert {name for name in dir(cudalink) if not name.startswith("_")} == {*cudalink.__all__} - {"__version__"} | {"compat"}
    for module in (cudalink.compat, cudalink._types):
        own = {name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}
        assert {name for name in own if not name.startswith("_")} <= {*module.__all__}


def test_the_stubs_say_what_the_module_has(tmp_path):
    allowed = tmp_path / "allowed"
    # Classes of Cython do not tell the arguments of __init__, and those of Output are no one's to give.
    names = ["_cudalink.Linker", "_cudalink.Linker.__init__", "_cudalink.Output.__init__", "compat.ObjectCode-redefinition"]
    allowed.write_text("".join("cudalink.%s\n" % name for name in names))
    command = [sys.executable, "-m", "mypy.stubtest", "cudalink", "--ignore-missing-stub", "--ignore-unused-allowlist", "--allowlist", allowed]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_checks_strictly(tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, "-p", "cudalink"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_program_that_uses_it_checks_strictly(tmp_path):
    program = tmp_path / "program.py"
    program.write_text((ROOT / "examples" / "python" / "link.py").read_text() + "reveal_type(cudalink.Linker(arch='sm_80').link().cubin)\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, program], capture_output=True, text=True)
    assert done.returncode == 0 and 'Revealed type is "bytes"' in done.stdout, done.stdout + done.stderr
    program.write_text("import cudalink\ncudalink.Linker(arch=80)\n")
    assert subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, program], capture_output=True).returncode == 1
