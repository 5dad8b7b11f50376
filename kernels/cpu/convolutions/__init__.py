"""Loops of convolution: register tiles, panels, Winograd's transforms, depthwise windows."""
