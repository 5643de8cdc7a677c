"""The judge of reservations."""
