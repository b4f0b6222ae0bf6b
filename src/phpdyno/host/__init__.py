"""The machine: facts, cores, CPU accounting, and who else is measuring."""
