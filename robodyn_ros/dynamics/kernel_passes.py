"""How the compiler treats kernels, and the functions that they inline: without work in vain.

- Passes for closures, comprehensions, `with`, array expressions and literal types are left out:
  they search each function for what no kernel has.
- A function that is only inlined is optimized where it ends up, and nowhere else becomes machine
  code.
- The type of a result, such as that of a sum of two floats, is looked for once: each search tries
  dozens of definitions, most of them for arrays.
- Options are compared by what was set: while types are found, that happens 100,000 times.

The kernels are as fast as before.
"""

from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, PassManager
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

UNUSED = {
    "with_lifting", "inline_closure_likes", "make_function_op_code_to_jit_function",
    "inline_inlinables", "dead_branch_prune", "find_literally", "literal_unroll",
    "LiteralPropagation", "inline_overloads", "nopython_rewrites",
    "annotate_types", "dump_parfor_diagnostics", "nopython_supported_feature_validation",
}  # fmt: skip


class KernelFlags(Flags):
    """Options that are equal if the same ones were set."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Flags) and self._values == other._values

    def __hash__(self) -> int:
        return len(self._values)  # few different ones are ever compared


class Typing:
    """The compiler's typing context; it remembers the results of functions of numbers."""

    _known: dict[Any, Any] = {}  # noqa: RUF012

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        """Return the signature of a function for these types of its arguments."""
        search = self._context.resolve_function_type
        if named or isinstance(function, types.Dispatcher) or not all(map(_is_number, arguments)):
            return search(function, arguments, named)
        key = function, tuple(arguments)
        if key not in self._known:
            self._known[key] = search(function, arguments, named)
        return self._known[key]


def _is_number(kind: Any) -> bool:
    return isinstance(kind, (types.Number, types.Boolean))  # noqa: UP038


class InlineCode(JITCodeLibrary):
    """Code that others copy into theirs."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineLowering(NativeLowering):
    """Translation of a function that is only inlined, so no address is needed."""

    _name = "inline_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate it, and let its callers know it by a key."""
        state.library = InlineCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        key: Any = [].append  # each is another one, and built-in, as a dispatcher wants it
        state.targetctx.insert_user_function(key, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=key)
        return True


class KernelCompiler(CompilerBase):
    """The compiler of kernels and of the functions that they inline."""

    def __init__(self, typing: Any, target: Any, library: Any, arguments: Any, result: Any,
                 flags: Any, variables: Any) -> None:  # fmt: skip
        flags = KernelFlags(flags)
        super().__init__(Typing(typing), target, library, arguments, result, flags, variables)

    def define_pipelines(self) -> list[PassManager]:
        """Return the usual passes but for those above."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        used = PassManager(usual.pipeline_name)
        for kind, text in usual.passes:
            if kind is NativeLowering and self.state.flags.forceinline:
                used.add_pass(InlineLowering, text)
            elif kind.name() not in UNUSED:
                used.add_pass(kind, text)
        used.finalize()
        return [used]
