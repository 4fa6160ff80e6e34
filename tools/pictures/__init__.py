"""Pictures of the docs, each made by a program."""
