"""Tools for migration: the import switch, comparison with real PyTorch, scanning, command line."""

if __name__ != "mindtorch.tools":
    raise ImportError("import mindtorch.tools, not the folder 'tools'")
