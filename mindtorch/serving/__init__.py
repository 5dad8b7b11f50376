"""MindSpore Serving's names over workers of our own: `import mindspore_serving` under the switch.

`mindspore_serving.server` starts servers, `mindspore_serving.server.register` is what a
`servable_config.py` uses, `mindspore_serving.client` asks. Needs the extra `serving`; see
docs/serving.md.
"""

__version__ = "2.0.2"  # of MindSpore Serving, whose names these are

__all__ = ["__version__"]
