"""The proxy in front of a command: lines between a client's pipes and the server's process."""
