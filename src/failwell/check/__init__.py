"""`failwell check`: provoke failures of a server's tools, grade them, and say what to fix."""
