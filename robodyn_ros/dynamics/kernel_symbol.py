"""How one kernel calls another: by an address that it reads from a symbol.

The compiler would rather copy a called function into its caller, optimize it there again, and so
need it first. By symbols each kernel is compiled once, in any order, by any process.
"""

import ctypes
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core import cgutils
from numba.core.sigutils import normalize_signature
from numba.core.typing.templates import make_concrete_template
from numba.extending import lower_builtin


class KernelSymbol:
    """A kernel as its callers see it. Its address must be set before one of them runs."""

    def __init__(self, name: str, signature: Any) -> None:
        self.name, self._signature = name, signature
        self._address = ctypes.c_void_p()
        llvm.add_symbol(name, ctypes.addressof(self._address))

    def set_address(self, dispatcher: Any) -> None:
        """Set it to that of a compiled function of one signature."""
        (made,) = dispatcher.overloads.values()
        name = made.fndesc.llvm_func_name
        self._address.value = made.library.get_pointer_to_function(name)

    @cached_property
    def type(self) -> types.Function:
        """The compiler's type of the kernel."""
        arguments, result = normalize_signature(self._signature)
        lower_builtin(self, *arguments)(self._build_call)
        return types.Function(make_concrete_template(self.name, self, [result(*arguments)]))

    def _build_call(self, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Build a call with the compiler's own convention; errors of the callee are passed on."""
        convention, given = context.call_conv, signature.args
        kind = convention.get_function_type(signature.return_type, given).as_pointer()
        place = builder.module.globals.get(self.name)
        if place is None:
            place = cgutils.add_global_variable(builder.module, kind, self.name)
        status, value = convention.call_function(
            builder, builder.load(place), signature.return_type, given, arguments
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return value
