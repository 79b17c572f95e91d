"""Parts of kernels: code without machine code of its own."""

from __future__ import annotations

from typing import Any

from numba.core import compiler
from numba.core.codegen import JITCodeLibrary


class PartLibrary(JITCodeLibrary):
    """The code of a part and of its own parts, neither optimised nor made machine code.

    That is done once, in the kernel that they are inlined into, not at every level below it.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]
        return 0

    @property
    def codegen(self) -> type[_NoEnvironment]:
        """Who is told of the function's environment."""
        return _NoEnvironment


class _NoEnvironment:
    """Parts do without the environment in which functions look up Python objects."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        pass


class PartCompiler(compiler.Compiler):
    """Numba's own compiler, but for the library that the code goes to."""

    def compile_extra(self, function: Any) -> Any:
        """Compile the function for others to inline."""
        codegen = self.state.targetctx.codegen()
        self.state.library = PartLibrary(codegen, function.__qualname__)  # type: ignore[no-untyped-call]
        self.state.library.enable_object_caching()
        return super().compile_extra(function)  # type: ignore[no-untyped-call]
