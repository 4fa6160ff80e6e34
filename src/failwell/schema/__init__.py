"""Arguments and JSON Schemas: say what is wrong with a call, and how to repair it."""
