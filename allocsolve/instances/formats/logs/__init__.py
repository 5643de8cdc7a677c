"""Logs of schedulers, and what else they print: queues, events, reservations."""
