"""Eager quantisation: observers are put into a model, and quantised modules in the place of
others."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch.ao.nn import intrinsic as nni
from mindtorch.torch.ao.nn import quantized as nnq

from .observer import is_activation_post_process
from .qconfig import (
    activation_is_memoryless,
    assert_valid_qconfig,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
)
from .quantization_mappings import (
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    no_observer_set,
    special_act_post_process,
)
from .stubs import DeQuantStub, QuantWrapper
from .utils import (
    deprecated,
    has_no_children_ignoring_parametrizations,
    without_parametrizations,
)

__all__ = [
    "add_quant_dequant", "convert", "get_default_custom_config_dict", "prepare", "prepare_qat",
    "propagate_qconfig_", "quantize", "quantize_dynamic", "quantize_qat", "swap_module",
]  # fmt: skip


def get_default_custom_config_dict() -> dict[str, Any]:
    """Classes of modules that are observed and quantised by classes of their own: none.

    Those of recurrent networks and of attention that torch has are not available.
    """
    return {
        "float_to_observed_custom_module_class": {},
        "observed_to_quantized_custom_module_class": {},
    }


def propagate_qconfig_(
    module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None
) -> None:
    """Give every module in a model its ``qconfig``: its own, that of its class or name, or that of
    the module around it.

    Args:
        module: the model.
        qconfig_dict: configurations by classes and names.
        prepare_custom_config_dict: has names and classes of modules that are left alone, as
            ``non_traceable_module_name`` and ``non_traceable_module_class``.
    """
    _propagate(module, qconfig_dict or {}, None, "", prepare_custom_config_dict or {})


def _propagate(module: Any, known: Any, outer: Any, prefix: str, custom: Any) -> None:
    found = known.get(prefix, known.get(without_parametrizations(module), outer))
    found = getattr(module, "qconfig", found)
    assert_valid_qconfig(found, module)
    module.qconfig = found
    for name, child in module.named_children():
        if name in custom.get("non_traceable_module_name", ()):
            continue
        if type(child) in custom.get("non_traceable_module_class", ()):
            continue
        _propagate(child, known, found, f"{prefix}.{name}" if prefix else name, {})


def _observer_forward_hook(self: Any, input: Any, output: Any) -> Any:  # noqa: A002
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self: Any, input: Any) -> Any:  # noqa: A002
    return self.activation_post_process(input[0])


def _needs_observation(module: Any) -> bool:
    return getattr(module, "qconfig", None) is not None


def _insert_observer(module: Any, special: Any = None) -> None:
    """Let a module's result, or what it gets where ranges are those of each call, be observed."""
    if not _needs_observation(module) or isinstance(module, DeQuantStub):
        return
    made = module.qconfig.activation() if special is None else special()
    module.add_module("activation_post_process", made)
    if activation_is_memoryless(module.qconfig):
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _add_observer_(module: Any, classes: Any, non_leaf: Any, custom: Any) -> None:
    """Put observers into the modules of ``classes``."""
    for name, child in module.named_children():
        kind = without_parametrizations(child)
        special = special_act_post_process(child)
        if kind is nn.Dropout:
            continue
        if issubclass(kind, (nnq.FloatFunctional, nnq.QFunctional)):
            if _needs_observation(child):
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, nni._FusedModule) or kind in (non_leaf or ()):
            _insert_observer(child)
        elif special is not None:
            _insert_observer(child, special)
        elif _needs_observation(child) and kind in custom:
            observed = custom[kind].from_float(child)
            setattr(module, name, observed)
            if not issubclass(custom[kind], tuple(no_observer_set())):
                _insert_observer(observed)
        else:
            _add_observer_(child, classes, non_leaf, custom)
    known = without_parametrizations(module) in classes and not isinstance(module, nn.Sequential)
    if known and (
        has_no_children_ignoring_parametrizations(module) or hasattr(module, "weight_fake_quant")
    ):
        _insert_observer(module)


def add_quant_dequant(module: Any) -> Any:
    """The model with each leaf that has a ``qconfig`` between two stubs.

    Args:
        module: the model; a leaf comes back in a QuantWrapper.
    """
    leaf = has_no_children_ignoring_parametrizations(module)
    if leaf and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


def prepare(
    model: Any, inplace: bool = False, allow_list: Any = None,
    observer_non_leaf_module_list: Any = None, prepare_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """The model with observers, which calls of it on examples then calibrate.

    Args:
        model: its modules have a ``qconfig``, or the model has one for all.
        inplace: change the model, not a copy.
        allow_list: the classes of modules that get observers; None for those that are quantised.
        observer_non_leaf_module_list: classes of modules with parts that get observers, too.
        prepare_custom_config_dict: has classes that observe for others, as
            ``float_to_observed_custom_module_class``.
    """
    deprecated()
    return _prepare(
        model, inplace, allow_list, observer_non_leaf_module_list, prepare_custom_config_dict
    )


def _prepare(model: Any, inplace: bool, allowed: Any, non_leaf: Any, custom: Any) -> Any:
    custom = get_default_custom_config_dict() if custom is None else custom
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration "
            "through `qconfig_dict` or by assigning the `.qconfig` attribute directly on "
            "submodules",
            stacklevel=3,
        )
    _add_observer_(
        model, get_default_qconfig_propagation_list() if allowed is None else allowed, non_leaf,
        custom.get("float_to_observed_custom_module_class", {}),
    )  # fmt: skip
    return model


def _remove_activation_post_process(module: Any) -> None:
    observer = getattr(module, "activation_post_process", None)
    if observer is not None and is_activation_post_process(observer):
        del module.activation_post_process
    for hooks, own in (
        (module._forward_pre_hooks, _observer_forward_pre_hook),
        (module._forward_hooks, _observer_forward_hook),
    ):  # fmt: skip
        for key in [key for key, hook in hooks.items() if hook is own]:
            del hooks[key]


def _remove_qconfig(module: Any) -> None:
    """Take configurations and observers out of a model."""
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    _remove_activation_post_process(module)


def quantize(
    model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False
) -> Any:
    """The model quantised after ``run_fn(model, *run_args)`` calibrated it.

    Args:
        model: with a ``qconfig``.
        run_fn: calls the model on examples.
        run_args: its further arguments.
        mapping: what takes the place of classes of modules; None for the usual.
        inplace: change the model, not a copy.
    """
    deprecated()
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    _prepare(model, True, None, None, None)
    run_fn(model, *run_args)
    return _converted(model, mapping)


_RECURRENT = (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
_DYNAMIC: dict[Any, Any] = {
    torch.qint8: (default_dynamic_qconfig, _RECURRENT),
    torch.float16: (float16_dynamic_qconfig, _RECURRENT),
    torch.quint8: (float_qparams_weight_only_qconfig, (nn.EmbeddingBag, nn.Embedding)),
}


def quantize_dynamic(
    model: Any, qconfig_spec: Any = None, dtype: Any = torch.qint8, mapping: Any = None,
    inplace: bool = False,
) -> Any:  # fmt: skip
    """The model with quantised weights; what comes in is put on levels at each call.

    Args:
        model: of any modules.
        qconfig_spec: the classes or names of modules to replace, or a dictionary of
            configurations by them; None for linear maps and recurrent networks (embeddings where
            ``dtype`` is torch.quint8).
        dtype: of weights, torch.qint8, torch.float16 or torch.quint8.
        mapping: what takes the place of classes of modules; None for the usual.
        inplace: change the model, not a copy.

    Raises:
        ValueError: another type.
    """
    deprecated()
    if qconfig_spec is None or isinstance(qconfig_spec, set):
        if dtype not in _DYNAMIC:
            if qconfig_spec is None:
                raise ValueError(
                    f"Don't know how to quantize with default settings for {dtype}. Provide full "
                    "qconfig please"
                )
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        qconfig, kinds = _DYNAMIC[dtype]
        qconfig_spec = dict.fromkeys(qconfig_spec or kinds, qconfig)
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    return _converted(model, mapping or get_default_dynamic_quant_module_mappings())


def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """The model with modules whose weights and results are put on levels while it is trained.

    Args:
        model: in training mode, with a ``qconfig``.
        mapping: what takes the place of classes of modules; None for the usual.
        inplace: change the model, not a copy.

    Raises:
        AssertionError: the model is in evaluation mode.
    """
    deprecated()
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    return _prepare_qat(model, mapping, inplace)


def _prepare_qat(model: Any, mapping: Any, inplace: bool) -> Any:
    known = get_default_qat_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    _convert(model, known, {}, False)
    return _prepare(model, True, None, set(known.values()), None)


def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """The model quantised after ``run_fn(model, *run_args)`` trained it with fake quantisation.

    Args:
        model: with a ``qconfig``.
        run_fn: trains the model.
        run_args: its further arguments.
        inplace: change the model, not a copy.
    """
    deprecated()
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    _prepare_qat(model, None, True)
    run_fn(model, *run_args)
    return _converted(model, None)


def convert(
    module: Any, mapping: Any = None, inplace: bool = False, remove_qconfig: bool = True,
    is_reference: bool = False, convert_custom_config_dict: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> Any:  # fmt: skip
    """The model with quantised modules in the place of those that were calibrated or trained.

    Args:
        module: a prepared model.
        mapping: what takes the place of classes of modules; None for the usual.
        inplace: change the model, not a copy.
        remove_qconfig: take configurations out of the model.
        is_reference: False: there are no reference modules.
        convert_custom_config_dict: has classes that quantise what others observed, as
            ``observed_to_quantized_custom_module_class``.
        use_precomputed_fake_quant: do not observe weights again.

    Raises:
        NotImplementedError: ``is_reference``.
    """
    deprecated()
    if is_reference:
        raise NotImplementedError("convert(is_reference=True) is not in mindtorch")
    if not inplace:
        module = copy.deepcopy(module)
    return _converted(
        module, mapping, remove_qconfig, convert_custom_config_dict, use_precomputed_fake_quant
    )


def _converted(
    model: Any, mapping: Any, remove: bool = True, custom: Any = None, observed: bool = False
) -> Any:
    known = get_default_static_quant_module_mappings() if mapping is None else mapping
    custom = get_default_custom_config_dict() if custom is None else custom
    _convert(
        model, known, custom.get("observed_to_quantized_custom_module_class", {}), observed
    )
    if remove:
        _remove_qconfig(model)
    return model


def _convert(module: Any, mapping: Any, custom: Any, observed: bool) -> None:
    made = {}
    for name, child in module.named_children():
        kind = without_parametrizations(child)
        if not isinstance(child, nni._FusedModule) and kind not in custom:
            _convert(child, mapping, custom, observed)
        made[name] = swap_module(child, mapping, custom, observed)
    module._modules.update(made)


def swap_module(
    mod: Any, mapping: Any, custom_module_class_mapping: Any,
    use_precomputed_fake_quant: bool = False,
) -> Any:  # fmt: skip
    """What takes the place of a module; the module itself where nothing does.

    Args:
        mod: the module.
        mapping: classes by the classes whose place they take; they have ``from_float``.
        custom_module_class_mapping: the same for those with ``from_observed``.
        use_precomputed_fake_quant: do not observe weights again.
    """
    kind = without_parametrizations(mod)
    if getattr(mod, "qconfig", None) is None:
        return mod
    if kind in custom_module_class_mapping:
        made = custom_module_class_mapping[kind].from_observed(mod)
    elif kind in mapping:
        make = mapping[kind].from_float
        takes = "use_precomputed_fake_quant" in inspect.signature(make).parameters
        options = {"use_precomputed_fake_quant": use_precomputed_fake_quant} if takes else {}
        made = make(mod, **options)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:
            made.register_forward_hook(hook)
    return made
