"""Cell: torch's Module with MindSpore's names, parameter names and training flag."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.mixed_precision import lowered
from mindtorch.torch.autograd import Function
from mindtorch.torch.nn.modules.module import Module

from .. import communication
from ..common.dtype import as_dtype
from ..common.parameter import DEFAULT_NAME, Parameter, ParameterTuple
from ..common.tensor import adopt

__all__ = ["Cell", "CellDict", "CellList", "SequentialCell"]

_PRECISIONS = (dtypes.float16, dtypes.float32, dtypes.bfloat16)


class Cell(Module):
    """A part of a network. Subclasses assign parameters and cells and define ``construct``.

    A new cell is not in training mode: ``set_train()`` puts it there.

    Args:
        auto_prefix: whether parameters of cells assigned to this one get the attribute's name
            before theirs.
        flags: kept as attributes.
    """

    _compute_dtype: Any = None
    _casting = 0
    _division: Any = None  # how its parameters lie over processes
    _stage: int | None = None
    _flags: dict[str, Any]

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        super().__init__()
        fields = self.__dict__
        fields["training"] = False
        fields["_auto_prefix"] = auto_prefix
        fields["requires_grad"] = False
        fields["_flags"] = {}
        self.add_flags(**(flags or {}))

    # --- calling -----------------------------------------------------------------------------

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "bprop" in cls.__dict__:
            cls.construct = _differentiated_by_bprop(cls.construct)  # type: ignore[method-assign]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        dtype = self._compute_dtype
        if dtype is None:
            return _adopted(super().__call__(*args, **kwargs), args)
        args, kwargs = lowered(args, dtype), lowered(kwargs, dtype)
        self.__dict__["_casting"] = self._casting + 1
        try:
            return _adopted(super().__call__(*args, **kwargs), args)
        finally:
            self.__dict__["_casting"] -= 1

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if (self._casting or self._division is not None) and isinstance(found, Parameter):
            value = lowered(found, self._compute_dtype) if self._casting else found
            return value if self._division is None else self._division.seen(found, value)
        return found

    # --- registering -------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            if value.name in (None, DEFAULT_NAME):
                value.name = name
        elif isinstance(value, ParameterTuple):
            object.__setattr__(self, name, value)
            for parameter in value:
                key = parameter.name
                self._parameters[f"{name}_{key}" if key in self._parameters else key] = parameter
            return
        elif isinstance(value, Module) and self.__dict__.get("_auto_prefix"):
            _prefix(value, name)
        elif isinstance(value, (EngineTensor, int, float)):
            held = self.__dict__.get("_parameters", {}).get(name)
            if held is not None:  # a parameter keeps its place and takes the value
                number = not isinstance(value, EngineTensor)
                held.set_data(held.new_full(held.shape, value) if number else value)
                return
        super().__setattr__(name, value)

    def insert_child_to_cell(self, child_name: str, child_cell: Any) -> None:
        """Add a cell under a name.

        Raises:
            KeyError: the name is taken.
            TypeError: the name is no text, or the child no cell.
        """
        if not isinstance(child_name, str):
            raise TypeError(
                f"For 'insert_child_to_cell', the type of parameter 'child_name' must be str, but "
                f"got {type(child_name)}."
            )
        if hasattr(self, child_name):
            raise KeyError(
                f"For 'insert_child_to_cell', the {child_name} child cell already exists in the "
                "network. Cannot insert another child cell with the same name."
            )
        if not isinstance(child_cell, Module):
            raise TypeError(
                "For 'insert_child_to_cell', the argument 'child_cell' must be 'Cell' if not None, "
                f"but got type {type(child_cell)}."
            )
        self.add_module(child_name, child_cell)  # its parameters keep their names

    def insert_param_to_cell(
        self, param_name: str, param: Any, check_name_contain_dot: bool = True
    ) -> None:
        """Add a parameter under a name.

        Raises:
            KeyError: the name is taken, or has a dot in it.
            TypeError: no parameter.
        """
        if hasattr(self, param_name) and param_name not in self._parameters:
            raise KeyError(
                f"For 'insert_param_to_cell', the {param_name} parameter already exists in the "
                "network.Cannot insert another parameter with the same name."
            )
        if not isinstance(param, Parameter):
            raise TypeError(
                f"For 'insert_param_to_cell', the argument 'param' must be 'Parameter' if not "
                f"None, but got {type(param)}."
            )
        if check_name_contain_dot and "." in param_name:
            raise KeyError(f"For 'insert_param_to_cell', {param_name!r} must not contain '.'")
        if param.name in (None, DEFAULT_NAME):
            param.name = param_name
        self.register_parameter(param_name, param)

    # --- parameters --------------------------------------------------------------------------

    def get_parameters(self, expand: bool = True) -> Iterator[Any]:
        """All parameters, those of the cells below included when ``expand``."""
        return (parameter for _, parameter in self.named_parameters(recurse=expand))

    def trainable_params(self, recurse: bool = True) -> list[Any]:
        """The parameters that are trained."""
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Any]:
        """The parameters that are kept but not trained: moving averages, for one."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Any]:
        """All parameters by name."""
        return OrderedDict((p.name, p) for p in self.get_parameters(recurse))

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """(name, parameter) of all parameters, named by their places in the cells."""
        return self.named_parameters(prefix=name_prefix, recurse=expand)

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name the parameters by their places in the cells, with ``prefix`` before them."""
        for name, parameter in self.parameters_and_names(expand=recurse):
            parameter.name = prefix + name

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Any, Any]:
        """{parameter: parameter}: initialisers run when parameters are made."""
        return {p: p for p in self.get_parameters()}

    # --- cells -------------------------------------------------------------------------------

    def cells(self) -> Any:
        """The cells assigned to this one."""
        return self.name_cells().values()

    def name_cells(self) -> OrderedDict[str, Any]:
        """The cells assigned to this one, by name."""
        return OrderedDict(self.named_children())

    def cells_and_names(self, cells: Any = None, name_prefix: str = "") -> Iterator[Any]:
        """(name, cell) of this cell and all below, but for the set ``cells``, which gets them."""
        return self.named_modules(cells, name_prefix)

    # --- flags -------------------------------------------------------------------------------

    @property
    def cls_name(self) -> str:
        return type(self).__name__

    @property
    def param_prefix(self) -> str:
        """What stands before the names of this cell's own parameters."""
        for name, parameter in self._parameters.items():
            if parameter is not None and (parameter.name or "").endswith("." + name):
                return str(parameter.name[: -len(name) - 1])
        return ""

    def set_train(self: Any, mode: bool = True) -> Any:
        """Put this cell and all below into training mode, or out of it."""
        return self.train(bool(mode))

    def set_grad(self: Any, requires_grad: bool = True) -> Any:
        """Record the flag: gradients follow from how the cell is used."""
        self.__dict__["requires_grad"] = requires_grad
        return self

    def to_float(self: Any, dst_type: Any) -> Any:
        """Compute in ``dst_type``, here and in all cells below: inputs and parameters are cast
        when the cell is called; parameters are stored as they were.

        Raises:
            ValueError: not float16, bfloat16 or float32.
        """
        dtype = as_dtype(dst_type)
        if dtype not in _PRECISIONS:
            raise ValueError(
                "For 'to_float', the argument 'dst_type' must be mstype.float32, mstype.float16 or "
                f"mstype.bfloat16, but got {dst_type}."
            )
        for cell in self.modules():
            if isinstance(cell, Cell):
                cell.__dict__["_compute_dtype"] = dtype
        return self

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Say what inputs the cell will get, with tensors of open lengths among them
        (`Tensor(shape=[None, 3], dtype=...)`). Calls may have any lengths anyway, and
        `mindspore.export` is given the inputs.

        Args:
            inputs: the arguments of `construct`.
            kwargs: those by name, in place of ``inputs``.

        Raises:
            ValueError: there are both.
        """
        if inputs and kwargs:
            raise ValueError("set_inputs takes arguments by place or by name, not both")
        self.__dict__["_inputs"] = kwargs or inputs

    def get_inputs(self) -> Any:
        """What :meth:`set_inputs` was given; None before."""
        return self.__dict__.get("_inputs")

    def add_flags(self: Any, **flags: Any) -> Any:
        """Keep values as attributes."""
        for name, value in flags.items():
            object.__setattr__(self, name, value)
        self.__dict__["_flags"] = {**self._flags, **flags}
        return self

    def get_flags(self) -> dict[str, Any]:
        """The values that ``add_flags`` kept."""
        return dict(self._flags)

    def recompute(self, **options: Any) -> None:
        """Compute the cell's intermediate results again in backward instead of keeping them."""
        if options:
            raise ValueError(f"recompute() does not take {sorted(options)}")
        construct = self.construct

        def again(*args: Any, **kwargs: Any) -> Any:
            checkpoint = torch.utils.checkpoint.checkpoint
            return checkpoint(construct, *args, use_reentrant=False, **kwargs)

        object.__setattr__(self, "construct", again)
        object.__setattr__(self, "forward", again)

    def shard(
        self, in_strategy: Any, out_strategy: Any = None, parameter_plan: Any = None,
        device: str = "Ascend", level: int = 0,
    ) -> Any:  # fmt: skip
        """The cell as a function that all processes compute together; see :func:`mindspore.shard`.

        Args:
            in_strategy, out_strategy, parameter_plan, device, level: as there.
        """
        return communication.sharding().shard(
            self, in_strategy, out_strategy, parameter_plan, device, level
        )

    def apply(self: Any, fn: Callable[[Any], Any]) -> Any:
        """Call ``fn`` on every cell below, then on this one."""
        return super().apply(fn)

    def extend_repr(self) -> str:
        """What stands between the parentheses of the cell's text."""
        return ""

    def extra_repr(self) -> str:
        return self.extend_repr()

    def register_forward_pre_hook(self, hook: Any, **options: Any) -> Any:
        """Call ``hook(cell, inputs)`` before construct; what it returns replaces the inputs."""
        return super().register_forward_pre_hook(hook, **options)

    def register_backward_hook(self, hook: Any) -> Any:
        """Call ``hook(cell, grad_input, grad_output)`` in backward."""

        def call(cell: Any, grad_input: Any, grad_output: Any) -> Any:
            return hook(cell, adopt(grad_input), adopt(grad_output))

        return self.register_full_backward_hook(call)

    @property
    def pipeline_stage(self) -> int | None:
        """The stage of a pipeline that the cell is in; None: that of what is called before it.

        Raises:
            TypeError, ValueError: when set: no int, or below 0.
        """
        return self._stage

    @pipeline_stage.setter
    def pipeline_stage(self, value: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"'pipeline_stage' must be an int, but got {type(value)}")
        if value < 0:
            raise ValueError(f"'pipeline_stage' must not be below 0, but got {value}")
        self.__dict__["_stage"] = value

    @property
    def phase(self) -> str:
        """ "train" in training mode, else "predict"."""
        return "train" if self.training else "predict"

    def check_names(self) -> None:
        """Refuse two parameters of one name.

        Raises:
            ValueError: a name is there twice.
        """
        names: set[str] = set()
        for parameter in self.get_parameters():
            if parameter.name in names:
                raise ValueError(
                    f"The value of {parameter} is {parameter.name!r}, but it already exists; a "
                    "parameter's name must be its own"
                )
            names.add(parameter.name)


def _differentiated_by_bprop(construct: Callable[..., Any]) -> Callable[..., Any]:
    """``construct`` with ``cell.bprop(*inputs, output, gradient of the output)`` as derivative."""

    @functools.wraps(construct)
    def call(self: Any, *inputs: Any) -> Any:
        return _ByBprop.apply(self, construct, *inputs)

    return call


class _ByBprop(Function):
    """A cell's own derivative; its parameters have none."""

    @staticmethod
    def forward(ctx: Any, cell: Any, construct: Any, *inputs: Any) -> Any:
        output = construct(cell, *inputs)
        ctx.cell, ctx.inputs, ctx.output = cell, inputs, output
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        gradient = adopt(gradients[0] if len(gradients) == 1 else gradients)
        found = ctx.cell.bprop(*ctx.inputs, ctx.output, gradient)
        listed = found if isinstance(found, (tuple, list)) else (found,)
        if len(listed) != len(ctx.inputs):
            raise TypeError(
                f"For user defined method 'bprop' of '{ctx.cell.cls_name}', the number of return "
                f"values should be equal to the number of inputs, {len(ctx.inputs)}, but got "
                f"{len(listed)}."
            )
        tensors = (g if isinstance(g, EngineTensor) else None for g in listed)
        return None, None, *tensors


def _adopted(result: Any, args: tuple[Any, ...]) -> Any:
    """The result as MindSpore's tensors; an argument that comes back stays what it is."""
    if any(result is each for each in args):
        return result
    return adopt(result)


def _prefix(cell: Any, name: str) -> None:
    """Name a cell's parameters by where they are now: ``name.`` and their path in the cell."""
    for path, parameter in cell.named_parameters():
        parameter.name = f"{name}.{path}"


def _prefix_of(cells: dict[str, Any]) -> str:
    """What stands before the names of a list's cells, guessed from the first two as MindSpore
    guesses it: with one cell, whose inner cells have numbers too, it may be ``0.blocks.``; files
    of MindSpore's have such names."""
    firsts = [(key, next(iter(cell.parameters()), None)) for key, cell in cells.items()]
    named = [(key, parameter.name.split(".")) for key, parameter in firsts if parameter is not None]
    prefix: list[str] = []
    for place, word in enumerate(named[0][1] if named else ()):
        if word == named[0][0]:
            prefix = named[0][1][:place]
            if len(named) > 1 and named[1][1][place : place + 1] == [named[1][0]]:
                break
    return "".join(f"{word}." for word in prefix)


class SequentialCell(Cell):
    """Cells called one after another. Takes cells, a list of them, or an OrderedDict."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named: Any = args[0].items()
        else:
            cells = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
            named = ((str(i), cell) for i, cell in enumerate(cells))
        for name, cell in named:
            self._add(name, cell)

    def _add(self, name: str, cell: Any, before: str = "") -> None:
        if not isinstance(cell, Module):
            raise TypeError(f"For '{type(self).__name__}', {cell!r} is not a cell")
        _prefix(cell, before + name)
        self.add_module(name, cell)

    def construct(self, *inputs: Any) -> Any:
        cells = list(self._modules.values())
        if not cells:
            return inputs[0]
        result = cells[0](*inputs)
        for cell in cells[1:]:
            result = cell(result)
        return result

    def append(self, cell: Any) -> SequentialCell:
        """Add a cell at the end."""
        self._add(str(len(self)), cell, _prefix_of(self._modules))
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        cells = list(self._modules.values())
        if isinstance(index, slice):
            part = type(self)()
            for name, cell in list(self._modules.items())[index]:
                part.add_module(name, cell)
            return part
        return cells[index]

    def __setitem__(self, index: int, cell: Any) -> None:
        name = list(self._modules)[index]
        _prefix(cell, _prefix_of(self._modules) + name)
        self._modules[name] = cell

    def __delitem__(self, index: int | slice) -> None:
        gone = list(self._modules)[index]
        names = {gone} if isinstance(gone, str) else set(gone)
        self._renumber([(n, c) for n, c in self._modules.items() if n not in names])

    def _renumber(self, cells: list[tuple[str, Any]]) -> None:
        """Hold these cells; those that have numbers for names get their places."""
        before = _prefix_of(self._modules)
        self._modules.clear()
        for place, (name, cell) in enumerate(cells):
            self._add(str(place) if name.isdecimal() else name, cell, before)


class CellList(SequentialCell):
    """A list of cells, which are not called by it."""

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("a CellList is a list of cells: call its elements")

    def insert(self, index: int, cell: Any) -> None:
        """Add a cell before place ``index``."""
        cells = list(self._modules.items())
        cells.insert(index, ("0", cell))
        self._renumber(cells)

    def extend(self, cells: Any) -> CellList:
        """Add cells at the end."""
        for cell in cells:
            self.append(cell)
        return self


class CellDict(Cell):
    """Cells by name.

    Args:
        cells: a mapping, or pairs, of names and cells.
    """

    def __init__(self, cells: Any = None) -> None:
        super().__init__()
        self.update(cells or {})

    def update(self, cells: Any) -> None:
        """Add or replace cells."""
        for name, cell in cells.items() if hasattr(cells, "items") else cells:
            self[name] = cell

    def __setitem__(self, name: str, cell: Any) -> None:
        _prefix(cell, name)
        self._modules[name] = cell

    def __getitem__(self, name: str) -> Any:
        return self._modules[name]

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def keys(self) -> Any:
        return self._modules.keys()

    def values(self) -> Any:
        return self._modules.values()

    def items(self) -> Any:
        return self._modules.items()
