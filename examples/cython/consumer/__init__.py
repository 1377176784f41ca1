"""A package whose Cython code links through the C interface of cudalink."""
import cudalink  # noqa: F401  It loads libcudalink, wherever it is installed.
