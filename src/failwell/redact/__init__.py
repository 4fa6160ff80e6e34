"""What may leave the process: text and failures without secrets, invisible characters or excess length."""
