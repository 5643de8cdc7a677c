"""The judge of partitions."""
