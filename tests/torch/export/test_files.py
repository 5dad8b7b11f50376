"""torch.export.save and load: what comes back, and files that are none."""

from __future__ import annotations

import io
import json
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.torch import export
from mindtorch.torch.export import Dim
from tests.torch.export.test_export import containers, language_model, lenet, norm_in_training


def saved(program: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    export.save(program, file, **options)
    return file.getvalue()


def loaded(content: bytes, **options: Any) -> Any:
    return export.load(io.BytesIO(content), **options)


def small(n: int = 4) -> Any:
    return export.export(torch.nn.Linear(n, 3), (torch.ones(2, n),))


def changed(content: bytes, name: str, new: bytes) -> bytes:
    """The archive with another entry in place of one."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as made:
        for each in old.namelist():
            made.writestr(each, new if each == name else old.read(each))
    return file.getvalue()


def test_a_transformer_comes_back_without_its_code(tmp_path: Path) -> None:
    """A file has everything: parameters, open lengths with their bounds, masks made from them."""
    torch.manual_seed(0)
    net = language_model(torch).eval()
    ids = torch.randint(0, 20, (3, 7))
    marks = {0: Dim.DYNAMIC, 1: Dim("words", max=64)}
    export.save(export.export(net, (ids,), dynamic_shapes=(marks,)), tmp_path / "net.pt2")
    program = export.load(tmp_path / "net.pt2")
    module = program.module()
    for shape in ((3, 7), (1, 64), (2, 1)):
        ids = torch.randint(0, 20, shape)
        np.testing.assert_array_equal(module(ids).detach().numpy(), net(ids).detach().numpy())
    with pytest.raises(AssertionError, match="Guard failed"):
        module(torch.zeros((2, 65), dtype=torch.int64))
    assert [str(span) for span in program.range_constraints.values()][1:] == ["VR[0, 64]"]
    assert program.example_inputs is not None and program.example_inputs[0][0].shape == (3, 7)


def test_signature_containers_and_buffers_come_back() -> None:
    """What is printed of the program is the same, and a program that is loaded is saved again."""
    net = containers(torch).eval()
    parts = {"a": torch.full((3,), 2.0), "b": (torch.ones(3),)}
    given, scale = torch.randn(5, 4), torch.full((1,), 3.0)
    program = export.export(net, (given, parts), {"scale": scale})
    again = loaded(saved(loaded(saved(program))))
    assert str(again) == str(program) and again.call_spec == program.call_spec
    result, direct = again.module()(given, parts, scale=scale), net(given, parts, scale=scale)
    assert result["out"].equal(direct["out"]) and result["rest"][2:] == (None, 3)
    assert list(dict(again.named_buffers())) == list(dict(program.named_buffers()))


def test_ordered_dicts_come_back() -> None:
    """They keep their type; named tuples have no word in the format, as in torch."""

    class Named(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return OrderedDict(best=tuple(x.topk(2)), order=[x.sort(-1, descending=True)[0]])

    x = torch.randn(3, 4)
    made = loaded(saved(export.export(Named(), (x,)))).module()(x)
    assert type(made) is OrderedDict and made["best"][1].equal(x.topk(2).indices)

    class Whole(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.topk(2)

    program = export.export(Whole(), (x,))
    assert program.module()(x).values.equal(x.topk(2).values)
    with pytest.raises(NotImplementedError, match="a topk among the arguments or results"):
        saved(program)


def test_a_program_that_was_loaded_is_trained() -> None:
    """Parameters are parameters, writes to parts of tensors pass gradients on."""
    torch.manual_seed(0)
    net = norm_in_training(torch)
    x = torch.randn(5, 1, 8, 8)
    module = loaded(saved(export.export(net, (x,)))).module()
    module(x).square().sum().backward()
    net(x).square().sum().backward()
    for (name, mine), wanted in zip(module.named_parameters(), net.parameters(), strict=True):
        assert mine.grad.equal(wanted.grad), name
    assert module.norm.running_mean.equal(net.norm.running_mean)


def test_extra_files() -> None:
    """Texts lie beside the program."""
    content = saved(small(), extra_files={"words.txt": "a b"})
    found = {"words.txt": "", "other": "kept"}
    loaded(content, extra_files=found)
    assert found == {"words.txt": "a b", "other": "kept"}


def test_a_file_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    """The file appears when it is whole."""
    path = tmp_path / "net.pt2"
    export.save(small(), path)
    before = path.read_bytes()
    named = type("Pairs", (tuple,), {})
    torch.utils._pytree.register_pytree_node(
        named, lambda x: (list(x), None), lambda x, _: named(x)
    )

    class Gives(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return named((x * 2,))

    program = export.export(Gives(), (torch.ones(2),))
    assert type(program.module()(torch.ones(2))) is named
    with pytest.raises(NotImplementedError, match="a Pairs among the arguments or results"):
        export.save(program, path)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["net.pt2"]
    with pytest.raises(TypeError, match=r"must be an instance of 'ExportedProgram', got 'Linear'"):
        export.save(torch.nn.Linear(1, 1), path)  # type: ignore[arg-type]


def test_files_that_are_none(tmp_path: Path) -> None:
    """Nothing, something else, and a missing file."""
    with pytest.raises(FileNotFoundError):
        export.load(tmp_path / "none.pt2")
    for content in (b"", b"garbage", b"PK\x03\x04" + bytes(100)):
        with pytest.raises(RuntimeError, match=r"export\.load: .* is damaged or no exported"):
            loaded(content)
    state = io.BytesIO()
    torch.save({"x": torch.ones(2)}, state)
    with pytest.raises(RuntimeError, match="holds no exported program"):
        loaded(state.getvalue())


def test_files_of_later_versions() -> None:
    """They say what they are."""
    with pytest.raises(NotImplementedError, match="archives of version b'1'"):
        loaded(changed(saved(small()), "archive/archive_version", b"1"))
    content = saved(small())
    for major, minor in ((9, 0), (8, 21), (7, 1)):
        text = program_text(content)
        text["schema_version"] = {"major": major, "minor": minor}
        with pytest.raises(NotImplementedError, match=rf"files of the schema {major}\.{minor}"):
            loaded(with_text(content, text))


def test_truncated_and_changed_files() -> None:
    """Each cut and each changed byte of the parts is found, or changes nothing."""
    content = saved(small())
    for cut in range(0, len(content), 97):
        with pytest.raises(RuntimeError, match=r"torch\.export\.load"):
            loaded(content[:cut])
    x = torch.ones(2, 4)
    wanted = loaded(content).module()(x)
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(content), 200):
        spoiled = bytearray(content)
        spoiled[place] ^= 1 << rng.integers(8)
        try:
            found = loaded(bytes(spoiled))
        except (RuntimeError, NotImplementedError) as error:
            assert "torch.export.load" in str(error)
        else:
            assert found.module()(x).equal(wanted)


def program_text(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("archive/models/model.json"))


def with_text(content: bytes, text: Any) -> bytes:
    return changed(content, "archive/models/model.json", json.dumps(text).encode())


def _graph(text: Any) -> Any:
    return text["graph_module"]["graph"]


def _call(text: Any) -> Any:
    return text["graph_module"]["module_call_graph"][0]["signature"]


def _specs(text: Any, kind: str = "input_specs") -> Any:
    return text["graph_module"]["signature"][kind]


@pytest.mark.parametrize("change", [
    lambda t: _specs(t).pop(), lambda t: _specs(t, "output_specs").clear(),
    lambda t: _call(t).update(in_spec="*"), lambda t: _call(t).update(in_spec="[1, {}]"),
    lambda t: _specs(t)[0]["parameter"].update(parameter_name="other"),
    lambda t: t.update(guards_code=["__import__('os').system('x') == 1"]),
    lambda t: t.update(guards_code=["L['input'].size()[0] == open('x')"]),
    lambda t: t.update(range_constraints={"__import__('os')": {"min_val": 0, "max_val": None}}),
    lambda t: t.pop("range_constraints"), lambda t: _graph(t)["nodes"].clear(),
    lambda t: _graph(t)["nodes"][0]["inputs"].pop(0), lambda t: _graph(t)["inputs"].pop(),
    lambda t: _graph(t)["inputs"][0]["as_tensor"].update(name="x=__import__('os')"),
    lambda t: _graph(t)["inputs"][0]["as_tensor"].update(name="torch"),
    lambda t: _graph(t)["nodes"][0]["inputs"][0].update(name="self, x"),
    lambda t: _graph(t)["nodes"][0]["inputs"][0].update(arg={"as_tensor": {"name": "later"}}),
    lambda t: _graph(t)["tensor_values"]["input"]["sizes"].pop(),
    lambda t: _graph(t)["tensor_values"]["input"].update(
        sizes=[{"as_expr": {"expr_str": "__import__('os')", "hint": None}}, {"as_int": 4}]),
    lambda t: _graph(t)["outputs"].__setitem__(0, {"as_tensor": {"name": "input"}}),
])  # fmt: skip
def test_programs_that_contradict_themselves(change: Any) -> None:
    """Whatever the checksums say, what is read is checked; nothing of it is executed."""
    content = saved(small())
    text = program_text(content)
    change(text)
    with pytest.raises((RuntimeError, NotImplementedError), match=r"torch\.export\.load: the file"):
        loaded(with_text(content, text))


@pytest.mark.parametrize("name", [
    "torch.ops.aten.nothing.default", "os.system", "torch.ops.os.system.default",
    "torch.ops.aten.linear.__class__", "torch.ops.aten.linear.other", "builtins.eval",
    "torch.ops.higher_order.scan",
])  # fmt: skip
def test_an_op_that_is_not_known(name: str) -> None:
    """A graph names operators, never code; the error names the operator."""
    content = saved(small())
    text = program_text(content)
    _graph(text)["nodes"][0]["target"] = name
    with pytest.raises(NotImplementedError, match=r"the operator .* is not") as error:
        loaded(with_text(content, text))
    assert name.removeprefix("torch.ops.") in str(error.value)


@pytest.mark.parametrize("name", ["cond", "while_loop", "wrap_with_set_grad_enabled"])
def test_a_call_of_graphs_without_graphs(name: str) -> None:
    content = saved(small())
    text = program_text(content)
    _graph(text)["nodes"][0]["target"] = f"torch.ops.higher_order.{name}"
    with pytest.raises(RuntimeError, match=f"the arguments of torch.ops.higher_order.{name} do"):
        loaded(with_text(content, text))


@pytest.mark.parametrize("change", [
    {"path_name": "../../models/model.json"}, {"path_name": "weight_9"}, {"use_pickle": True},
    {"tensor_meta": None},
])  # fmt: skip
def test_lists_of_tensors_that_do_not_fit(change: Any) -> None:
    """Records that are missing, pickles, and views that leave their record."""
    content = saved(small())
    name = "archive/data/weights/model_weights_config.json"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = json.loads(archive.read(name))
    text["config"]["weight"].update(change)
    with pytest.raises((RuntimeError, NotImplementedError), match=r"torch\.export\.load"):
        loaded(changed(content, name, json.dumps(text).encode()))
    text["config"]["weight"].update({"path_name": "weight_0", "use_pickle": False})
    meta = small_meta(content)
    for offset in (1 << 40, 5, -1):
        text["config"]["weight"]["tensor_meta"] = {**meta, "storage_offset": {"as_int": offset}}
        with pytest.raises(RuntimeError, match="is too short"):
            loaded(changed(content, name, json.dumps(text).encode()))


def small_meta(content: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        text = archive.read("archive/data/weights/model_weights_config.json")
    return json.loads(text)["config"]["weight"]["tensor_meta"]


def test_lenet_is_as_large_as_its_parameters(tmp_path: Path) -> None:
    """Parameters are kept once."""
    net = lenet(torch).eval()
    export.save(export.export(net, (torch.randn(1, 1, 28, 28),)), tmp_path / "net.pt2")
    amount = sum(p.numel() * 4 for p in net.parameters())
    assert amount < (tmp_path / "net.pt2").stat().st_size < amount + 40_000


def test_a_program_that_was_loaded_becomes_an_onnx_model() -> None:
    """With the names of its arguments and parameters, and its open lengths."""
    onnx = pytest.importorskip("onnx")
    torch.manual_seed(0)
    net = language_model(torch).eval()
    marks = {0: Dim("batch"), 1: Dim("words", max=64)}
    ids = torch.zeros((3, 7), dtype=torch.int64)
    program = loaded(saved(export.export(net, (ids,), dynamic_shapes=(marks,))))
    made = torch.onnx.export(program, input_names=["ids"])
    (given,) = made.model_proto.graph.input
    assert given.name == "ids"
    names = [str(name) for name in program.range_constraints]
    assert [n.dim_param for n in given.type.tensor_type.shape.dim] == names
    assert "places" in {x.name for x in made.model_proto.graph.initializer}
    onnx.checker.check_model(made.model_proto)
    ids = torch.randint(0, 20, (2, 9))
    np.testing.assert_allclose(made(ids)[0].numpy(), net(ids).detach().numpy(), atol=1e-5)
    with pytest.raises(ValueError, match="a program has its open"):
        torch.onnx.export(program, dynamic_axes={"ids": {0: "batch"}})
