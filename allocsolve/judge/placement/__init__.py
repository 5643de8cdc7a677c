"""The judge of placements."""
