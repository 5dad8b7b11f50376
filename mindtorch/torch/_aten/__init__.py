"""Overloads of ``torch.ops.aten``, and the calls of them that ``__torch_dispatch__`` sees.

While a mode is active, or a tensor's class has ``__torch_dispatch__``, a call of a public function
becomes calls of overloads as torch has them: :mod:`.composites` says which, by hand where a
function is made of several, by the schemas in ``schemas.txt`` where it is one overload. What has
no place there runs as ever, and the engine's ops that it calls are handed on under the names that
:mod:`.lowerings` gives them. :mod:`.formulas` has the gradients of overloads in calls of overloads.
"""
