"""The instance library: its files, and the best known values."""
