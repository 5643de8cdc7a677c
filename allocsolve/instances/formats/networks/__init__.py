"""Networks of nodes and lists of hosts, as schedulers have them in files."""
