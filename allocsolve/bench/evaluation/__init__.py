"""Policies of others on hidden windows of logs: run sealed, judged outside, scored by certified bounds."""
