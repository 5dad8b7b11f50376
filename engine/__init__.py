"""The engine: ops, abstract values, tape and transformations. It knows nothing of torch's API."""

if __name__ != "mindtorch.engine":
    raise ImportError("import mindtorch.engine, not the folder 'engine'")
