"""Builds the wheel: the package, the extension, and libcudalink with its header and CMake files.

CUDALINK_LIBRARY names a libcudalink that is built already, with the SONAME that it is shipped under; otherwise cargo builds one.
"""
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "target" / "python"
VERSION = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
# As cargo-c names it: an ABI is kept within 0.x.
SONAME = "libcudalink.so." + ".".join(VERSION.split(".")[:2])
# A free-threaded interpreter has no limited API.
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")


def library() -> Path:
    """The file of libcudalink that the wheel carries."""
    if built := os.environ.get("CUDALINK_LIBRARY"):
        return Path(built)
    target = BUILD / "cargo"
    subprocess.run(
        ["cargo", "rustc", "--release", "--locked", "--lib", "--crate-type", "cdylib", "--no-default-features", "--features", "capi",
         "--target-dir", target, "--", "-C", "link-arg=-Wl,-soname," + SONAME],
        cwd=ROOT, check=True)
    return target / "release" / "libcudalink.so"


class BuildPackage(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib, "cudalink")
        lib, include = package / "lib", package / "include" / "cudalink"
        for folder in (lib, include):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        shutil.copy(library(), lib / SONAME)
        # A wheel holds no links: for the linker's -lcudalink a script does as well as one.
        (lib / "libcudalink.so").write_text("INPUT(%s)\n" % SONAME)
        for header in ("cudalink.h", "cudalink.hpp"):
            if (ROOT / "include" / header).exists():
                shutil.copy(ROOT / "include" / header, include)
        if (ROOT / "cmake").is_dir():
            shutil.copytree(ROOT / "cmake", lib / "cmake" / "cudalink")


class BuildExtension(build_ext):
    def build_extension(self, extension):
        extension.library_dirs.append(str(Path(self.build_lib, "cudalink", "lib")))
        # Some interpreters were built with a search path of their own, which is none of other machines.
        self.compiler.linker_so = [argument for argument in self.compiler.linker_so if "-rpath" not in argument]
        super().build_extension(extension)


class Wheel(bdist_wheel):
    def finalize_options(self):
        if LIMITED:
            self.py_limited_api = "cp311"
        super().finalize_options()


BUILD.mkdir(parents=True, exist_ok=True)
os.chdir(HERE)
extension = Extension(
    "cudalink._cudalink",
    ["cudalink/_cudalink.pyx"],
    include_dirs=["../../include"],
    libraries=["cudalink"],
    extra_compile_args=["-g0"],
    extra_link_args=["-Wl,-rpath,$ORIGIN/lib", "-Wl,--strip-all"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
    py_limited_api=LIMITED,
)
modules = cythonize([extension], build_dir="../../target/python/cython")
for module in modules:
    module.sources = [os.path.relpath(source, HERE) for source in module.sources]
setup(
    version=VERSION,
    ext_modules=modules,
    cmdclass={"build_py": BuildPackage, "build_ext": BuildExtension, "bdist_wheel": Wheel},
    # Nothing is written beside the sources.
    options={"build": {"build_base": "../../target/python/build"}, "egg_info": {"egg_base": "../../target/python"}},
)
