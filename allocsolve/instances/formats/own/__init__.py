"""The formats of this package: a kind of file is its schema, and the way from its fields to what it holds."""
