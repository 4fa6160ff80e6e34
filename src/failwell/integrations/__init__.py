"""Integrations with other libraries: one module per library, imported only by its users."""
