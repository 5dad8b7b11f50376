"""`debug_layer_info`: the layers of a model beside those of its PyTorch counterpart."""
