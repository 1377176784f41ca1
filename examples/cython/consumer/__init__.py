"""A package whose Cython code links through the C interface of cudalink."""
