"""What the bench does with the instance library: suites, better values, verification."""
