"""The judge of workloads."""
