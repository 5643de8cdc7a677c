"""Files of simulators and viewers, read and written."""
