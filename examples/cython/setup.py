import cudalink
from Cython.Build import cythonize
from setuptools import Extension, setup

extension = Extension(
    "consumer.jit",
    ["consumer/jit.pyx"],
    include_dirs=[cudalink.get_include()],
    library_dirs=[cudalink.get_library_dir()],
    libraries=["cudalink"],
    # Where pip installs the one beside the other.
    extra_link_args=["-Wl,-rpath,$ORIGIN/../cudalink/lib"],
)
setup(ext_modules=cythonize([extension]))
