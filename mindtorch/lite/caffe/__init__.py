"""Caffe's models as modules."""
