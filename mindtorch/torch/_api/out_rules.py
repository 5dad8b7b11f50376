"""What torch demands of tensors given as ``out=``, and the texts of its errors.

In texts {result} and {out} are types by torch's names, {c_result} and {c_out} by C's.
"""

from __future__ import annotations

__all__ = ["ANY", "CANNOT_CAST", "NO_DERIVATIVE", "Out"]


class Out:
    """What a function demands of its ``out``.

    Attributes:
        same: the text where it is of another type than the result; None where it may be of any
            type that the result casts to.
        cast: the text where the result does not cast to its type.
        of_dtype: the text where it is not of the type that the argument ``dtype`` says, {dtype} or
            {c_dtype}.
        shown: the function that errors of autodiff name in place of the one called.
        recorded: a composition of torch's: writing its result is a copy that autodiff records.
        untracked: it has no derivative, or torch does not track it.
        no_overlap: torch forbids to write over what it reads, whole or in part.
        c_order: where it gets another shape, it lies in C order, whatever the result's is.
    """

    __slots__ = (
        "c_order", "cast", "no_overlap", "of_dtype", "recorded", "same", "shown", "untracked",
    )  # fmt: skip

    def __init__(
        self,
        same: str | None = None,
        *,
        cast: str | None = None,
        of_dtype: str | None = None,
        shown: str | None = None,
        recorded: bool = False,
        untracked: bool = False,
        no_overlap: bool = False,
        c_order: bool = False,
    ) -> None:
        self.same = same
        self.cast = cast or CANNOT_CAST
        self.of_dtype = of_dtype
        self.shown = shown
        self.recorded = recorded
        self.untracked = untracked
        self.no_overlap = no_overlap
        self.c_order = c_order


CANNOT_CAST = "result type {result} can't be cast to the desired output type {out}"
NO_DERIVATIVE = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad."
)
ANY = Out()

# texts that several functions share
EXACT = "Expected out tensor to have dtype {c_result}, but got {c_out} instead"
FOUND = "Found dtype {out} but expected {result}"
SCALAR_TYPE = "expected scalar_type {result} but found {out}"
SCALAR_TYPE_OF_RESULT = "expected scalar type {result} but found {out}"
OUT_PARAMETER = "dtype {result} does not match dtype of out parameter ({out})"
INPUT_DTYPE = "result dtype {out} does not match input dtype {result}"
SAME_SCALAR_TYPE = "{name}(): self and result must have the same scalar type"
OF_QUANTILE = "quantile() out tensor must be same dtype as the input tensor"
ONLY_BOOLEAN = "{name} does not support non-boolean outputs."
ONLY_BOOL = "{name} only supports bool tensor for result, got: {out}"
OF_TENSORDOT = (
    "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor "
    "with dtype {out}"
)
OF_LINALG = "linalg.{name} expected out tensor dtype {result} but got: {out}"
SCALAR_OBJECT = (
    "Expected object of scalar type {result} but got scalar type {out} for argument 'out'"
)
OF_HISTOGRAM = (
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
    "{c_result} and hist {c_out}"
)
OF_DTYPE = "Expected out tensor to have dtype {c_dtype}, but got {c_out} instead"
CAT = "torch.cat(): input types can't be cast to the desired output type {out}"
COMPLEX = "{name} expects a complex output tensor, but got {out}"
FLOATING = "{name} expects a floating point output tensor, but got {out}"
FFTN_COMPLEX = "fftn expects a complex output tensor, but got {out}"
CASTABLE = (
    "{name}: Expected result to be safely castable from {result} dtype, but got result with "
    "dtype {out}"
)
LINALG_CASTABLE = (
    "linalg.{name}: Expected result to be safely castable from {result} dtype, but got result "
    "with dtype {out}"
)
TORCH_LINALG_CASTABLE = (
    "torch.linalg.{name}: Expected result to be safely castable from {result} dtype, but got "
    "result with dtype {out}"
)
EIGENVALUES_CASTABLE = (
    "torch.linalg.{name}: Expected eigenvalues to be safely castable from {result} dtype, but "
    "got eigenvalues with dtype {out}"
)
CAN_CAST = (
    "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) "
    "to be true, but got false.  (Could this error message be improved?  If so, please report "
    "an enhancement request to PyTorch.)"
)
