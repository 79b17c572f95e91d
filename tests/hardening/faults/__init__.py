"""The faults that a review with hostile eyes found in version 0.1.0, tried again one by one."""
