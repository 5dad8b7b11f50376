"""Running graphs: partitions, memory plans, executables, compiled backward passes."""
