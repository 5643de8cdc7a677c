"""How problems and answers are written: the envelope, one codec per family, logs."""
