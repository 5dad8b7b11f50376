"""Old forms of calls: deprecated ones that torch still takes, and a removed one."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.publish import function
from .._api.signatures import is_number, wrong_call
from .._api.warn_caller import warn_caller_once

__all__ = ["old_factor", "old_sum"]

_NEW_SUMS = ("addmm", "baddbmm")


def _tell(name: str, old: str, *instead: str) -> None:
    """Warn, as torch does for the first such call of a process only."""
    forms = "".join(f"\n\t{name}({form})" for form in instead)
    warn_caller_once(
        f"This overload of {name} is deprecated:\n\t{name}({old})\nConsider using one of the "
        f"following signatures instead:{forms}",
        "old forms",
    )


def _refuse(name: str, arguments: tuple[Any, ...]) -> Exception:
    method = name.endswith("_")
    wrong = wrong_call(name, arguments[method:], {}, method)
    return wrong or TypeError(f"{name}() received an invalid combination of arguments")


def old_factor(
    name: str, word: str, operands: str, first: Any, number: Any, rest: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The tensors of ``name(first, number, *rest)``: ``add(input, alpha, other)`` and its like.

    Args:
        word: what the number is called today.
        operands: names of the tensors after it, between blanks.
    """
    sums = operands == "other"  # which take a number for the tensor, too
    tensors = all(isinstance(x, EngineTensor) or (sums and is_number(x)) for x in (first, *rest))
    if not tensors or not is_number(number) or len(rest) != len(operands.split()):
        raise _refuse(name, (first, number, *rest))
    names = ", ".join(f"Tensor {each}" for each in operands.split())
    if name.endswith("_"):
        _tell(name, f"Number {word}, {names}", f"{names}, *, Number {word} = 1")
    else:
        out = "Tensor out = None"
        _tell(
            name,
            f"Tensor input, Number {word}, {names}, *, {out}",
            f"Tensor input, {names}, *, Number {word} = 1, {out}",
        )
    return rest


def old_sum(
    name: str, operands: tuple[str, str], arguments: tuple[Any, ...]
) -> tuple[tuple[Any, ...], Any, Any]:
    """(tensors, beta, alpha) of ``addmm(beta, input, alpha, mat1, mat2)`` and its like.

    As a method the tensor comes first; ``alpha`` may be left out.
    """
    tensors = tuple(x for x in arguments if isinstance(x, EngineTensor))
    numbers = [x for x in arguments if not isinstance(x, EngineTensor)]
    is_method = isinstance(arguments[0], EngineTensor)
    kinds = "".join("T" if isinstance(x, EngineTensor) else "N" for x in arguments)
    if kinds not in ("TNTT", "TNNTT", "NTTT", "NTNTT"):
        raise _refuse(name, arguments)
    pair = ", ".join(f"Tensor {each}" for each in operands)
    alpha = "Number alpha, " if len(numbers) == 2 else ""
    scales = "Number beta = 1, Number alpha = 1"
    if is_method:
        _tell(name, f"Number beta, {alpha}{pair}", f"{pair}, *, {scales}")
    else:
        end = ", Tensor out = None"
        new = [f"Tensor input, {pair}, *, {scales}{end}"]
        if name in _NEW_SUMS:
            new.append(f"Tensor input, {pair}, torch.dtype out_dtype, *, {scales}{end}")
        _tell(name, f"Number beta, Tensor input, {alpha}{pair}, *{end}", *new)
    return tensors, numbers[0], numbers[1] if len(numbers) == 2 else 1


@function(namespace=False)
def reinforce(self: Any, reward: Any) -> Any:
    """Removed from torch: use ``torch.distributions``; ``reward`` has no effect."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead.\n"
        "See https://pytorch.org/docs/main/distributions.html\n\n"
        "Instead of:\n\n"
        "probs = policy_network(state)\naction = probs.multinomial()\n"
        "next_state, reward = env.step(action)\naction.reinforce(reward)\naction.backward()\n\n"
        "Use:\n\n"
        "probs = policy_network(state)\n"
        "# NOTE: categorical is equivalent to what used to be called multinomial\n"
        "m = torch.distributions.Categorical(probs)\naction = m.sample()\n"
        "next_state, reward = env.step(action)\nloss = -m.log_prob(action) * reward\n"
        "loss.backward()\n"
    )
