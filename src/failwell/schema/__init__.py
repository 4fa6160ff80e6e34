"""Arguments and JSON Schemas: what is wrong with a call, in words, and how to repair it."""
