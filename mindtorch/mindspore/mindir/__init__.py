"""MindIR, MindSpore's files of graphs: read by `mindspore.load`, written by `mindspore.export`.

`schema` has the messages, `values` what they hold; `reading` checks a file and makes a graph of it,
which `running` computes by the functions in `primitives*`; `writing` makes a file of a graph for
inference by the functions in `writers_*`. `encryption` is the layout of encrypted files.
"""
