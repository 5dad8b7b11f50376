"""Steps of inference in one compiled call, over packed weights."""
