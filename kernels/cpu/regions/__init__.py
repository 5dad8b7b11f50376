"""Boxes and regions of images: overlaps, pooling, deformable windows."""
