"""Which names are there: asked of the real namespaces, not of a list."""

from __future__ import annotations

import ast
import difflib
import importlib
import inspect
import textwrap
import warnings
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple

from .names import Use
from .notes import REFUSED_METHODS, find_note, text_of

__all__ = ["DIFFERENT", "MISSING", "SUPPORTED", "UNKNOWN", "Namespace", "Verdict"]

SUPPORTED, DIFFERENT, MISSING, UNKNOWN = "supported", "different", "missing", "unknown"
_MODULES = {"torch": "mindtorch.torch", "mindspore": "mindtorch.mindspore",
            "functorch": "mindtorch.torch.func"}  # fmt: skip
_KNOWN_OPERATORS = ("aten", "prims", "torchvision", "image")
_ORDER = (SUPPORTED, DIFFERENT, UNKNOWN, MISSING)


class Verdict(NamedTuple):
    """What is known of a use.

    Attributes:
        status: SUPPORTED, DIFFERENT, MISSING, or UNKNOWN where the package is not installed.
        name: the name it is about: of those the use may stand for the one that does best.
        reason: the difference, or what to use instead.
    """

    status: str
    name: str
    reason: str = ""


class _Absent(Exception):
    """A name that is not there; the parent that lacks it."""

    def __init__(self, name: str, parent: Any) -> None:
        super().__init__(name)
        self.name = name
        self.parent = parent


def _constants(node: ast.AST) -> str:
    """The longest text in an expression."""
    texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
    return max((text for text in texts if isinstance(text, str)), key=len, default="")


def _first_statement(function: Any) -> ast.stmt | None:
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    body = list(getattr(tree, "body", [])) if not isinstance(tree, ast.ClassDef) else []
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return body[0] if body else None


def refusal(thing: Any) -> str | None:
    """Why every call of `thing` raises; None where it does not."""
    own = vars(thing) if hasattr(thing, "__dict__") else {}
    if "__absent__" in own:
        return str(own["__absent__"])
    if inspect.isclass(thing):
        made = [own[name] for name in ("__new__", "__init__") if name in own]
        return next((why for why in map(refusal, made) if why), None)
    if not inspect.isfunction(thing):
        return None
    first = _first_statement(thing)
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Call):
        called = first.value.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in ("refuse", "missing"):
            return _constants(first) or "not available in mindtorch"
    if isinstance(first, ast.Raise) and first.exc is not None:
        text = _constants(first.exc)
        why = inspect.getclosurevars(thing).nonlocals.get("why", text)
        return str(why) if "mindtorch" in text else None
    return None


class Namespace:
    """Answers what a name is in mindtorch. Asked while `import torch` gives mindtorch.

    Args:
        imported: the modules that the scanned code imports by name, which a chain of attributes
            may reach in the running program.
    """

    def __init__(self, imported: Iterable[str] = ()) -> None:
        self.imported = set(imported)
        self._found: dict[str, Any] = {}
        self._refusals: dict[str, str | None] = {}

    # -- finding ----------------------------------------------------------------------------------

    def _root(self, name: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(_MODULES.get(name, name))

    def _module(self, name: str) -> ModuleType | None:
        """A module by its name, as an import statement of the program would find it."""
        root, _, rest = name.partition(".")
        full = f"{_MODULES.get(root, root)}.{rest}" if rest else _MODULES.get(root, root)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return importlib.import_module(full)
        except Exception:
            return None

    def _child(self, parent: Any, name: str, part: str) -> Any:
        if parent is None:  # e.g. torch.version.cuda, which the program has asked for
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return getattr(parent, part)
        except Exception:
            if name in self.imported:
                if isinstance(parent, ModuleType):
                    module = self._module(name)
                else:  # a function that stands in its module's place, e.g. in torchvision.ops
                    module = getattr(self._module(name.rpartition(".")[0]), part, None)
                if module is not None:
                    return module
            raise _Absent(name, parent) from None

    def find(self, name: str) -> Any:
        """The object of a dotted name.

        Raises:
            _Absent: a part of the name is not there.
            ImportError: the package is not installed, or does not run.
        """
        found = self._found.get(name, self)
        if found is self:
            parent, _, part = name.rpartition(".")
            try:
                found = self._child(self.find(parent), name, part) if parent else self._root(name)
            except (_Absent, ImportError) as failure:
                found = failure
            self._found[name] = found
        if isinstance(found, (_Absent, ImportError)):
            raise found
        return found

    def known_imports(self, uses: Iterable[Use]) -> None:
        """Learn which modules the program imports: those of the names, and all above them."""
        for use in uses:
            for name in use.names if use.kind == "import" else ():
                parts = name.split(".")
                self.imported.update(".".join(parts[:n]) for n in range(2, len(parts) + 1))
                if parts[0] == "torchvision":
                    self._module("torchvision")  # registers its operators

    def exported(self, module: str) -> frozenset[str]:
        """The names that `from module import *` gives."""
        found = self._module(module)
        if found is None:
            return frozenset()
        names = getattr(found, "__all__", None)
        return frozenset(names or (name for name in dir(found) if not name.startswith("_")))

    # -- judging ----------------------------------------------------------------------------------

    def judge(self, use: Use) -> Verdict | None:
        """The verdict on a use; None where it is about no name of torch's after all."""
        if use.tensor or use.likely:
            return self._judge_method(use)
        verdicts = [self._judge_name(name, use) for name in use.names]
        return min(verdicts, key=lambda each: _ORDER.index(each.status))

    def _judge_method(self, use: Use) -> Verdict | None:
        name = use.names[0]
        if name.rpartition(".")[2] in REFUSED_METHODS:
            return self._missing(name, use, None)
        try:
            self.find(name)
        except _Absent:
            return None  # an attribute of the user's own
        return self._judge_name(name, use)

    def _judge_name(self, name: str, use: Use) -> Verdict:
        if use.kind == "write":
            return self._judge_write(name, use)
        if name.startswith("torch.ops.") and name.split(".")[2] not in _KNOWN_OPERATORS:
            return Verdict(UNKNOWN, name, "operators are registered while the program runs")
        try:
            found = self.find(name) if use.kind != "import" else self._import(name)
        except _Absent as absent:
            return self._missing(absent.name, use, absent.parent)
        except ImportError as error:
            return Verdict(UNKNOWN, name, f"cannot be judged here: {error}")
        note = find_note(name, use.kind, dict(use.keywords))
        if note is not None:
            return Verdict(note.status, name, text_of(note))
        if name not in self._refusals:
            self._refusals[name] = refusal(found)
        why = self._refusals[name]
        if why is None:
            return Verdict(SUPPORTED, name)
        if use.kind == "call":
            told = find_note(name, use.kind, {}, missing=True)
            return Verdict(MISSING, name, text_of(told) if told else why)
        what = "module's names are" if isinstance(found, ModuleType) else "name is"
        return Verdict(DIFFERENT, name, f"the {what} there, using it raises: {why}")

    def _import(self, name: str) -> Any:
        """What `from parent import part` or `import name` finds: submodules, too."""
        parent, _, part = name.rpartition(".")
        module = self._module(parent) if parent else None
        if module is not None and hasattr(module, part):
            return getattr(module, part)
        found = self._module(name)
        if found is None:
            return self.find(name)
        return found

    def _judge_write(self, name: str, use: Use) -> Verdict:
        """Setting an attribute: works on every module, has an effect where it is known."""
        try:
            self.find(name)
        except _Absent as absent:
            if absent.name != name:
                return self._missing(absent.name, use, absent.parent)
            return Verdict(DIFFERENT, name, "can be set, and nothing reads it")
        except ImportError as error:
            return Verdict(UNKNOWN, name, f"cannot be judged here: {error}")
        note = find_note(name, use.kind, {})
        return Verdict(note.status, name, text_of(note)) if note else Verdict(SUPPORTED, name)

    def _missing(self, name: str, use: Use, parent: Any) -> Verdict:
        note = find_note(name, use.kind, dict(use.keywords), missing=True)
        if note is not None:
            return Verdict(MISSING, name, text_of(note))
        last = name.rpartition(".")[2]
        near = difflib.get_close_matches(last, dir(parent), n=1, cutoff=0.8) if parent else []
        if near and near[0].rstrip("0123456789") == last.rstrip("0123456789"):
            near = []  # uint2 is no slip for uint32
        hint = f"; did you mean {near[0]}?" if near else ""
        return Verdict(MISSING, name, f"not in mindtorch{hint}")
