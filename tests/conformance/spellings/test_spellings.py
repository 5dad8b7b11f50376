"""Every spelling of every overload that PyTorch accepts is accepted, and gives the same."""

from __future__ import annotations

import functools

import pytest

from tests.support.spellings.calls import Call, spellings
from tests.support.spellings.forms import Form, every_form
from tests.support.spellings.sweep import Found, report, sweep

forms_of_torch = functools.cache(every_form)  # seconds, which only who runs these tests waits
# kernels of other machines, and what docs/gaps.md refuses
LEFT_OUT = (
    "cudnn", "mkldnn", "fbgemm", "quantize", "choose_qparams", "sym_constrain", "chalf", "sparse",
    "thread_safe_generator", "linalg.eig",
)  # fmt: skip
KNOWN = {
    "torch.Tensor.storage_type", "torch.from_file", "torch.nn.functional.fractional_max_pool2d",
    "torch.nn.functional.max_unpool2d", "torch.lobpcg",
}  # fmt: skip


def failures(forms: list[Form]) -> list[Found]:
    found: list[Found] = []
    for form in forms:
        if form.path not in KNOWN and not any(each in form.path for each in LEFT_OUT):
            found += [each for each in sweep(form, 1) if each.why]
    return found


@pytest.mark.parametrize("part", range(24))
@pytest.mark.exhaustive
def test_all_spellings(part: int) -> None:
    found = failures(forms_of_torch()[part::24])
    assert not found, report(found, 40)


@pytest.mark.parametrize("path", [
    "torch.linalg.norm", "torch.linalg.inv", "torch.linalg.qr", "torch.max", "torch.addmm",
    "torch.abs_", "torch.Tensor.polygamma", "torch.Tensor.eq_", "torch.full", "torch.zeros",
    "torch.arange", "torch.randint_like", "torch.special.erf", "torch.expand_copy",
    "torch.fft.fftfreq", "torch.is_complex", "torch.Tensor.tensor_split", "torch.Tensor.add_",
    "torch.Tensor.sub_", "torch.Tensor.type_as", "torch.split",
])  # fmt: skip
def test_spellings_of(path: str) -> None:
    found = failures([form for form in forms_of_torch() if form.path == path])
    assert not found, report(found, 40)


def test_one_call_is_written_in_all_ways() -> None:
    forms = [f for f in forms_of_torch() if f.path == "torch.addmm" and not f.out]
    form = next(f for f in forms if f.parameters[0].name == "input")
    values = dict.fromkeys(("input", "mat1", "mat2"))
    written: list[Call] = list(spellings(form, values, None))
    assert {c.kind for c in written} >= {"by place", "mixed", "by name", "default beta="}
    assert any("x" in c.kwargs for c in written)
