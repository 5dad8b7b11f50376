"""Tensors that lie over several processes: what each of them holds, and how ops work on that."""
