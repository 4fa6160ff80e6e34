"""Redaction: text and failures without secrets, invisible characters or excess length."""
