"""TFLite files as modules."""
