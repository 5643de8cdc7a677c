from .main import entry as entry, main as main
