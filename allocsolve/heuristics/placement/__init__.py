"""Which nodes of a switch tree a job gets: the rules of schedulers, and simple ones to compare with."""
