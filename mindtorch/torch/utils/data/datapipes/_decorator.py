"""Short names for classes of pipes, and pipes whose order is not fixed."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .datapipe import IterDataPipe, MapDataPipe

__all__ = ["functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic"]


class functional_datapipe:  # noqa: N801
    """A decorator: the class is a method of its kind of pipes, ``pipe.name(...)``.

    Args:
        name: of the method.
        enable_df_api_tracing: data frames are not traced; True raises.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        if enable_df_api_tracing:
            raise NotImplementedError(
                "torch.utils.data.functional_datapipe(enable_df_api_tracing=True) is not available "
                "in mindtorch: data frames of torcharrow are not there"
            )
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        decorated = getattr(cls, "__self__", cls)
        if isinstance(decorated, non_deterministic):
            if decorated.cls is None:
                raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
            IterDataPipe.register_datapipe_as_function(self.name, cls)
        elif issubclass(cls, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls)
        elif issubclass(cls, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


class guaranteed_datapipes_determinism:  # noqa: N801
    """In this block pipes that were declared non-deterministic raise."""

    asked = False

    def __init__(self) -> None:
        self.prev = guaranteed_datapipes_determinism.asked
        guaranteed_datapipes_determinism.asked = True

    def __enter__(self) -> None:
        return

    def __exit__(self, *exception: object) -> None:
        guaranteed_datapipes_determinism.asked = self.prev


class non_deterministic:  # noqa: N801
    """A decorator: samples of the class come in an order that may change from run to run.

    Args:
        arg: the class, or a function of its arguments that says whether that is so.
    """

    cls: Any = None

    def __init__(self, arg: Any) -> None:
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    "Only `IterDataPipe` can be decorated with `non_deterministic`"
                    f", but {arg.__name__} is found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is not None:
            if guaranteed_datapipes_determinism.asked:
                raise TypeError(
                    f"{self.cls.__name__} is non-deterministic, but you set "
                    "'guaranteed_datapipes_determinism'. You can turn off determinism for this "
                    "DataPipe if that is acceptable for your application"
                )
            return self.cls(*args, **kwargs)
        (found,) = args
        if not (isinstance(found, type) and issubclass(found, IterDataPipe)):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {found.__name__} is found")
        self.cls = found
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> Any:
        """The pipe, unless it is non-deterministic with these arguments and must not be."""
        answer = self.deterministic_fn(*args, **kwargs)
        if not isinstance(answer, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required "
                f"to return a boolean value, but {type(answer)} is found"
            )
        if guaranteed_datapipes_determinism.asked and answer:
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic with the inputs, but you set "
                "'guaranteed_datapipes_determinism'. You can turn off determinism "
                "for this DataPipe if that is acceptable for your application"
            )
        return self.cls(*args, **kwargs)


_own_names(globals())
