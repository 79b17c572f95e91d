"""Kernels that others call where they are: linked by LLVM when code that calls them is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import llvmlite.binding
import numba
from numba.core import cgutils, itanium_mangler, types
from numba.core.typing import templates

insert_function: Any = cgutils.get_or_insert_function
make_template: Any = templates.make_intrinsic_template
mangle: Any = itanium_mangler.mangle
CAN_SHARE = numba.version_info[:2] >= (0, 63)
"""Whether kernels that Numba loads can say what they call."""
NOWHERE = 1  # an address that is none; LLVM takes 0 for a name that it does not know
_without_shared = ContextVar("without_shared", default=False)


def call_of(shared: Any) -> Any:
    """How Numba types and writes down a call of a shared kernel, which returns nothing."""
    function = shared.py_func

    def call(typing_context: Any, *types_of_arguments: Any) -> Any:
        def insert(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            link = _Link(function.__module__, function.__name__, signature.args)
            context.active_code_library._reload_init.add(link)
            link()
            convention = context.call_conv
            kind = convention.get_function_type(signature.return_type, signature.args)
            target = insert_function(builder.module, kind, link.symbol)
            status, result = convention.call_function(
                builder, target, signature.return_type, signature.args, arguments
            )
            with builder.if_then(status.is_error, likely=False):
                convention.return_status_propagate(builder, status)
            return result

        return types.none(*types_of_arguments), insert

    parameters = inspect.signature(function).parameters.values()
    context = inspect.Parameter("typing_context", inspect.Parameter.POSITIONAL_ONLY)
    call.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    return make_template(shared, call, function.__name__)


@dataclass(frozen=True)
class _Link:
    """Tell LLVM the address of a shared kernel; again whenever a kernel that calls it is loaded."""

    module: str
    name: str
    types: tuple[Any, ...]

    @property
    def symbol(self) -> str:
        """The name by which machine code calls it."""
        return str(mangle(f"{self.module}.{self.name}", self.types))

    def __call__(self) -> None:
        address = NOWHERE if _without_shared.get() else self._address()
        llvmlite.binding.add_symbol(self.symbol, address)

    def _address(self) -> int:
        shared = getattr(import_module(self.module), self.name)
        shared.compile(self.types)
        made = shared.overloads[self.types]
        return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


@contextmanager
def without_shared_kernels() -> Iterator[None]:
    """Compile kernels for the cache alone: the shared ones that they call are left out.

    They are good for the processes that load them later; a call in this one would crash.
    """
    token = _without_shared.set(True)
    try:
        yield
    finally:
        _without_shared.reset(token)
