"""`failwell check`: provoke a server's tools, grade how well they fail, and say what to mend."""
