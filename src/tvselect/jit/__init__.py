"""How kernels are compiled: one place for Numba's options, its cache and its notice.

Kernels are module-level functions on arrays of declared dtypes. With
``NUMBA_DISABLE_JIT=1`` the decorators leave the plain Python functions, which
are the reference for the compiled ones.
"""

from tvselect.jit.keeping import Compilation, all_kernels, was_compiled, watched_compilation
from tvselect.jit.kernels import kernel, part, shared_kernel
from tvselect.jit.sharing import without_shared_kernels

__all__ = [
    "Compilation",
    "all_kernels",
    "kernel",
    "part",
    "shared_kernel",
    "was_compiled",
    "watched_compilation",
    "without_shared_kernels",
]
