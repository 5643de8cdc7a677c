"""The judge of evolution schedules."""
