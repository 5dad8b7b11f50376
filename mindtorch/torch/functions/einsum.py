"""einsum: each pair of operands becomes one (batched) product of matrices."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import linear_algebra as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.ops.reduction import sum_
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.invalid_arguments import type_name

_TOO_FEW = (
    "einsum(): must specify the equation string and at least one operand, or at least one operand "
    "and its subscripts list"
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # torch's 0, 1, ...


def einsum(equation: Any = None, *operands: Any) -> Any:
    """Evaluate ``equation`` from left to right.

    Args:
        equation: such as "ij,jk->ik".
        operands: tensors, one by one or as a list.

    Raises:
        ValueError: there are no operands.
        RuntimeError: the equation does not fit the operands.
    """
    if not operands:
        raise ValueError(_TOO_FEW)
    if not isinstance(equation, (str, EngineTensor)):
        kind = type_name(equation)
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {kind}")
    if not isinstance(equation, str):
        equation, operands = _from_lists((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError(_TOO_FEW)
    for place, x in enumerate(operands):
        if not isinstance(x, EngineTensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 1, but got {type_name(x)}"
            )
    terms, output = _parse(equation.replace(" ", ""), operands)
    _check_sizes(terms, operands)
    labelled = [_diagonals(x, term) for x, term in zip(operands, terms, strict=True)]
    order = _order([*output, *sorted({k for _, term in labelled for k in term})])
    if len(labelled) == 2 and _turned(labelled[0][1], labelled[1][1], order):
        labelled.reverse()
    result, term = labelled[0]
    for position, (x, other) in enumerate(labelled[1:], 1):
        needed = set(output).union(*[t for _, t in labelled[position + 1 :]])
        result, term = _contract(result, term, x, other, needed, order)
    return _arrange(result, term, output, order)


def _turned(left: list[str], right: list[str], order: dict[str, int]) -> bool:
    """Whether all axes of the right operand alone lie outside of those of the left one, so that
    torch multiplies the other way round and the result lies in C order."""
    own = [order[k] for k in left if k not in right]
    other = [order[k] for k in right if k not in left]
    return bool(own and other) and min(own) > max(other)


def _order(labels: list[str]) -> dict[str, int]:
    """The place of each label in torch's order of axes: those of the result come first."""
    return {label: i for i, label in enumerate(dict.fromkeys(labels))}


def _from_lists(arguments: Any) -> Any:
    """The format with lists of numbers between operands."""
    operands, terms, output = [], [], None
    items = list(arguments)
    while items:
        if len(items) == 1:
            output = items.pop(0)
            break
        operands.append(items.pop(0))
        terms.append(items.pop(0))

    for numbers in (*terms, output or ()):
        if not isinstance(numbers, (list, tuple)):
            raise TypeError("einsum(): subscripts must be lists of numbers between the operands")
        for n in numbers:
            if n is not Ellipsis and not 0 <= n < len(_LETTERS):
                raise ValueError(
                    "einsum(): subscript in subscript list is not within the valid range [0, 52)"
                )

    def text(numbers: Any) -> str:
        return "".join("..." if n is Ellipsis else _LETTERS[n] for n in numbers)

    equation = ",".join(text(t) for t in terms)
    return (equation if output is None else f"{equation}->{text(output)}"), tuple(operands)


def _parse(equation: str, operands: Any) -> tuple[list[list[str]], list[str]]:
    """Labels of each operand and of the result; the axes of ... are labelled by numbers."""
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(operands):
        more = "more" if len(texts) < len(operands) else "fewer"
        raise RuntimeError(
            f"einsum(): {more} operands were provided than specified in the equation"
        )
    hidden = 0
    for text, x in zip(texts, operands, strict=True):
        if "..." in text:
            hidden = max(hidden, x.aval.ndim - len(text.replace("...", "")))
    terms = [_labels(t, x.aval.ndim, i, hidden) for i, (t, x) in
             enumerate(zip(texts, operands, strict=True))]  # fmt: skip
    dots = [f"{i}" for i in range(hidden)]
    if arrow:
        output = _labels(right, None, -1, hidden)
    else:
        flat = [label for term in terms for label in term if not label.isdigit()]
        once = sorted({label for label in flat if flat.count(label) == 1})
        output = [*dots, *once]
    known = {label for term in terms for label in term}
    for label in output:
        if label not in known and not label.isdigit():
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input "
                "operand"
            )
        if output.count(label) > 1:
            raise RuntimeError(
                f"einsum(): output subscript {label} appears more than once in the output"
            )
    return terms, output


def _labels(text: str, ndim: int | None, position: int, hidden: int) -> list[str]:
    before, dots, after = text.partition("...")
    for letter in before + after:
        if letter == "." and position >= 0:
            raise RuntimeError(
                f"einsum(): found '.' for operand {position} that is not part of any ellipsis"
            )
        if letter not in _LETTERS:
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {text.index(letter)} in the equation "
                "string, subscripts must be in [a-zA-Z]"
            )
    middle: list[str] = []
    if dots:
        own = hidden if ndim is None else ndim - len(before) - len(after)
        middle = [str(i) for i in range(hidden - own, hidden)]
    labels = [*before, *middle, *after]
    if ndim is not None and len(labels) != ndim:
        raise RuntimeError(
            "einsum(): the number of subscripts in the equation "
            f"({len(labels)}) does not match the number of dimensions ({ndim}) for operand "
            f"{position} and no ellipsis was given"
        )
    return labels


def _check_sizes(terms: list[list[str]], operands: Any) -> None:
    sizes: dict[str, tuple[int, int]] = {}
    for position, (term, x) in enumerate(zip(terms, operands, strict=True)):
        for axis, label in enumerate(term):
            n = x.aval.shape[axis]
            held, _ = sizes.get(label, (1, 0))
            if held not in (1, n) and n != 1:
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {n} for operand {position} which does "
                    f"not broadcast with previously seen size {held}"
                )
            if n != 1:
                sizes[label] = (n, position)


def _diagonals(x: Any, term: list[str]) -> tuple[Any, list[str]]:
    """Repeated labels of one operand become one axis."""
    term = list(term)
    for label in dict.fromkeys(term):
        while term.count(label) > 1:
            first = term.index(label)
            second = term.index(label, first + 1)
            x = movement.diagonal(x, offset=0, first=first, second=second)
            del term[second], term[first]
            term.append(label)
    return x, term


def _summed(x: Any, term: list[str], dropped: Any) -> tuple[Any, list[str]]:
    axis = tuple(i for i, label in enumerate(term) if label in dropped)
    if axis:
        x = tape.named(sum_(x, axis=axis, keepdims=False), "SumBackward1")
    return x, [label for label in term if label not in dropped]


def _sum_in_order(
    x: Any, term: list[str], dropped: list[str], order: dict[str, int]
) -> tuple[Any, list[str]]:
    """Sums over axes of one operand, whose result lies in the order of torch's axes."""
    if not dropped:
        return x, term
    ordered = sorted(term, key=order.__getitem__)
    return _summed(_arranged(x, term, ordered), ordered, dropped)


def _arranged(x: Any, term: list[str], wanted: list[str]) -> Any:
    axes = tuple(term.index(label) for label in wanted)
    return x if axes == tuple(range(len(axes))) else movement.permute(x, axes=axes)


def _contract(
    x: Any, left: list[str], y: Any, right: list[str], needed: set[str], order: dict[str, int]
) -> tuple[Any, list[str]]:
    """The product of two operands, summed over labels that nothing else needs."""
    alone = [k for k in left if k not in right and k not in needed]
    also = [k for k in right if k not in left and k not in needed]
    x, left = _sum_in_order(x, left, alone, order)
    y, right = _sum_in_order(y, right, also, order)
    shared = sorted([k for k in left if k in right], key=order.__getitem__)
    sizes_x = dict(zip(left, x.aval.shape, strict=True))
    sizes_y = dict(zip(right, y.aval.shape, strict=True))
    inner = [k for k in shared if k not in needed and sizes_x[k] == sizes_y[k]]
    uneven = [k for k in shared if k not in needed and sizes_x[k] != sizes_y[k]]
    batch = [k for k in shared if k not in inner]
    rows = sorted([k for k in left if k not in shared], key=order.__getitem__)
    columns = sorted([k for k in right if k not in shared], key=order.__getitem__)
    if not inner or uneven:
        kept = sorted(batch + rows + columns, key=order.__getitem__)
        return _multiply(x, left, y, right, kept, inner + uneven)
    a = _merged(_arranged(x, left, batch + rows + inner), len(batch), len(rows))
    b = _merged(_arranged(y, right, batch + inner + columns), len(batch), len(inner))
    product = ops.matmul(a, b)
    shape = product.aval.shape[: len(batch)]
    full = (*shape, *[sizes_x[k] for k in rows], *[sizes_y[k] for k in columns])
    return movement.reshape(product, full), batch + rows + columns


def _merged(x: Any, batch: int, first: int) -> Any:
    """Batch axes, then one axis for the next ``first`` and one for the rest."""
    shape = x.aval.shape
    m = n = 1
    for length in shape[batch : batch + first]:
        m *= length
    for length in shape[batch + first :]:
        n *= length
    return movement.reshape(x, (*shape[:batch], m, n))


def _multiply(
    x: Any, left: list[str], y: Any, right: list[str], kept: list[str], summed: list[str]
) -> tuple[Any, list[str]]:
    """The product by broadcasting."""
    labels = [k for k in kept if k not in summed] + summed

    def spread(z: Any, term: list[str]) -> Any:
        sizes = dict(zip(term, z.aval.shape, strict=True))
        ordered = _arranged(z, term, [k for k in labels if k in term])
        return movement.reshape(ordered, tuple(sizes.get(k, 1) for k in labels))

    return _summed(el.multiply(spread(x, left), spread(y, right)), labels, summed)


def _arrange(x: Any, term: list[str], output: list[str], order: dict[str, int]) -> Any:
    x, term = _sum_in_order(x, term, [k for k in term if k not in output], order)
    missing = [k for k in output if k not in term]
    for label in missing:
        x = movement.unsqueeze(x, axis=x.aval.ndim)
        term = [*term, label]
    return _arranged(x, term, output)
