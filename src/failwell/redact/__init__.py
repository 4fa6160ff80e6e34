"""What may leave the process: text and failures without secrets, unseen characters or excess length."""
