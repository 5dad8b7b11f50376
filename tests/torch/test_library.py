# mypy: disable-error-code="valid-type, empty-body"
"""torch.library and torch.ops: operators that users declare."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, List, Optional, Tuple, Union  # noqa: UP035 (scripts spell them so)

import pytest

import mindtorch.torch as ours
from mindtorch.torch import library
from mindtorch.torch.library import _custom_operators
from mindtorch.torch.ops import load_library

NAMESPACE = "mindtorch_test"


@pytest.fixture(autouse=True)
def clean_table() -> Iterator[None]:
    """What a test declares is gone after it."""
    before = dict(_custom_operators.OPERATORS)
    blocks = dict(library._blocks)
    yield
    _custom_operators.OPERATORS.clear()
    _custom_operators.OPERATORS.update(before)
    library._blocks.clear()
    library._blocks.update(blocks)
    vars(ours.ops).pop(NAMESPACE, None)


def prototypes(torch: Any) -> list[Callable[..., Any]]:
    """Functions with every kind of annotation, in a library's own types."""
    Tensor = torch.Tensor

    def plain(x: Tensor) -> Tensor: ...

    def many(
        x: Tensor,
        y: Optional[Tensor],  # noqa: UP045
        ts: List[Tensor],  # noqa: UP006
        sizes: Sequence[int],
        n: int = 3,
        s: float = 1.5,
        b: bool = True,
        t: str = "a",
        d: torch.dtype = torch.float32,
        dev: torch.device | None = None,
        o: int | None = None,
        *,
        k: Union[int, float, bool] = 2,  # noqa: UP007
    ) -> Tuple[Tensor, int]: ...  # noqa: UP006

    def nothing(x: Tensor) -> None: ...

    return [plain, many, nothing]


@pytest.mark.parametrize("index", range(3))
@pytest.mark.parametrize("mutates", [(), {"x"}, "unknown"])
def test_schemas_are_inferred_as_in_torch(index: int, mutates: Any) -> None:
    """The text is shown in errors and read by other tools."""
    torch = pytest.importorskip("torch")
    expected = torch.library.infer_schema(prototypes(torch)[index], mutates_args=mutates)
    assert library.infer_schema(prototypes(ours)[index], mutates_args=mutates) == expected


def test_an_annotation_that_is_missing_is_named() -> None:
    """With torch's text."""
    torch = pytest.importorskip("torch")

    def unknown(x) -> None: ...

    with pytest.raises(ValueError) as expected:
        torch.library.infer_schema(unknown, mutates_args=())
    with pytest.raises(ValueError) as error:
        library.infer_schema(unknown, mutates_args=())
    assert str(error.value) == str(expected.value)


def test_schemas_are_read() -> None:
    """Defaults, optional and keyword-only arguments, lists, and what is written to."""
    schema = _custom_operators.parse_schema(
        "f.out(Tensor(a!) x, Tensor? y=None, int[2] k=[1, 2], *, str s='a, b', float e=1e-5) -> ()",
        NAMESPACE,
    )
    found = [(a.name, a.type, a.default, a.keyword_only) for a in schema.arguments]
    assert found == [
        ("x", "Tensor", None, False),
        ("y", "Tensor?", None, False),
        ("k", "int[]", [1, 2], False),
        ("s", "str", "a, b", True),
        ("e", "float", 1e-5, True),
    ]
    assert (schema.name, schema.overload) == (f"{NAMESPACE}::f", "out")
    assert [a.is_mutable for a in schema.arguments] == [True, False, False, False, False]
    with pytest.raises(RuntimeError, match="cannot read the schema"):
        _custom_operators.parse_schema("no schema")


def test_a_declared_operator_is_found_and_called() -> None:
    """A kernel for a device, looked up by the device of its tensors."""
    block = library.Library(NAMESPACE, "DEF")
    assert block.define("twice(Tensor x, int n=2) -> Tensor") == "twice"
    operator = getattr(ours.ops, NAMESPACE).twice
    assert str(operator) == f"{NAMESPACE}.twice"
    assert repr(operator.default) == f"<OpOverload(op='{NAMESPACE}.twice', overload='default')>"
    with pytest.raises(NotImplementedError, match=rf"Could not run '{NAMESPACE}::twice' .*'CPU'"):
        operator(ours.ones(2))
    block.impl("twice", lambda x, n: x * n, "CPU")
    assert operator(ours.ones(2)).tolist() == [2.0, 2.0]
    assert operator.default(ours.ones(2), n=3).tolist() == [3.0, 3.0]


def test_operators_that_were_not_declared_are_no_attributes() -> None:
    """torchvision asks with hasattr; the text is torch's."""
    library.register_fake(f"{NAMESPACE}::later", lambda x: x)
    with pytest.raises(AttributeError, match=f"'_OpNamespace' '{NAMESPACE}' object has no attr"):
        getattr(ours.ops, NAMESPACE).later


def test_wrong_arguments_are_refused() -> None:
    """Missing, unknown, too many, no tensor: each is named."""
    library.define(f"{NAMESPACE}::f", "(Tensor x, int n) -> Tensor")
    f = getattr(ours.ops, NAMESPACE).f
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor' for argument 'x'"):
        f(3, 1)
    with pytest.raises(RuntimeError, match="missing value for argument 'n'"):
        f(ours.ones(1))
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'm'"):
        f(ours.ones(1), n=1, m=2)
    with pytest.raises(RuntimeError, match="expected at most 2 argument"):
        f(ours.ones(1), 1, 2)


def test_declaring_twice_is_refused() -> None:
    """The second would silently take the first one's place."""
    block = library.Library(NAMESPACE, "DEF")
    block.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="with the same name and overload name multiple times"):
        block.define("f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used"):
        library.Library(NAMESPACE, "DEF")
    library.Library(NAMESPACE, "FRAGMENT").define("g(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="Unsupported kind: NO"):
        library.Library(NAMESPACE, "NO")


def test_a_library_that_is_destroyed_takes_its_operators_along() -> None:
    """Tests of packages declare and take back."""
    block = library.Library(NAMESPACE, "DEF")
    block.define("f(Tensor x) -> Tensor")
    block.impl("f", lambda x: x, "CPU")
    block._destroy()
    assert not hasattr(getattr(ours.ops, NAMESPACE), "f")
    library.Library(NAMESPACE, "DEF")


def test_keys_that_mean_nothing_here_are_refused() -> None:
    """A kernel that is never called must not be accepted."""
    block = library.Library(NAMESPACE, "DEF")
    block.define("f(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="FuncTorchBatched"):
        block.impl("f", lambda x: x, "FuncTorchBatched")
    with pytest.raises(ValueError, match="no kernels for 'mps'"):
        library.impl(f"{NAMESPACE}::f", "mps", lambda x: x)


def test_a_custom_operator_has_the_gradient_that_was_given() -> None:
    """And no other: autograd does not look into its kernel."""

    @library.custom_op(f"{NAMESPACE}::square", mutates_args=())
    def square(x: ours.Tensor, scale: float = 1.0) -> ours.Tensor:
        return x * x * scale

    x = ours.tensor([1.0, 2.0], requires_grad=True)
    assert repr(square) == f"<CustomOpDef({NAMESPACE}::square)>"
    assert square(x.detach(), 3.0).tolist() == [3.0, 12.0]
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        square(x).sum().backward()

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    # Not the true gradient, so that it is seen to be used.
    square.register_autograd(
        lambda ctx, g: (7 * g * ctx.saved_tensors[0] * ctx.scale, None),
        setup_context=setup_context,
    )
    result = getattr(ours.ops, NAMESPACE).square(x, 2.0)
    assert result.grad_fn.name() == f"GeneratedBackwardFor_{NAMESPACE}_square_defaultBackward"
    result.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [14.0, 28.0]


def test_lists_of_tensors_have_lists_of_gradients() -> None:
    """As torch.library documents it."""

    @library.custom_op(f"{NAMESPACE}::add_all", mutates_args=())
    def add_all(xs: Sequence[ours.Tensor], k: int) -> ours.Tensor:
        return (xs[0] + xs[1]) * k

    add_all.register_autograd(
        lambda ctx, g: ([g * 2, g * 3], None), setup_context=lambda ctx, inputs, output: None
    )
    x, y = (ours.ones(2, requires_grad=True) for _ in range(2))
    add_all([x, y], 1).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]
    assert y.grad is not None and y.grad.tolist() == [3.0, 3.0]


def test_extensions_of_torch_cannot_be_loaded() -> None:
    """OSError is what packages look for before they do without."""
    with pytest.raises(OSError, match=r"^Could not load this library: /nowhere\.so"):
        load_library("/nowhere.so")


@pytest.mark.parametrize("name", ["register_vmap", "register_autocast", "triton_op", "get_ctx"])
def test_what_is_not_available_says_so(name: str) -> None:
    """A registration that nothing reads must not be accepted."""
    with pytest.raises(NotImplementedError, match=f"torch.library.{name} is not available"):
        getattr(library, name)("x")


@pytest.mark.parametrize(
    "name",
    [
        "custom_op",
        "define",
        "impl",
        "infer_schema",
        "register_autograd",
        "register_fake",
        "register_kernel",
    ],
)
def test_signatures_are_torchs(name: str) -> None:
    """Arguments by name must be accepted as torch names them."""
    torch = pytest.importorskip("torch")
    theirs, own = (inspect.signature(getattr(each.library, name)) for each in (torch, ours))
    assert list(own.parameters) == list(theirs.parameters)
