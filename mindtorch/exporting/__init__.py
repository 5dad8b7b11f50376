"""A model as a graph for inference, from which writers make files of other systems.

`inference_graph.trace` makes the graph; :mod:`mindtorch.torch.onnx` writes it as ONNX,
:mod:`mindtorch.mindspore.mindir` as MindIR.
"""
