"""pip install . builds this in an environment of its own, so pip has to find cudalink: on an index, or in PIP_FIND_LINKS=folder/of/the/wheel."""
import cudalink
from Cython.Build import cythonize
from setuptools import Extension, setup

extension = Extension(
    "consumer.jit",
    ["consumer/jit.pyx"],
    include_dirs=[cudalink.get_include()],
    library_dirs=[cudalink.get_library_dir()],
    libraries=["cudalink"],
    # Where pip installs the one beside the other: two packages of one depth. Importing cudalink first does as well, see __init__.py.
    extra_link_args=["-Wl,-rpath,$ORIGIN/../cudalink/lib"],
)
setup(ext_modules=cythonize([extension]))
