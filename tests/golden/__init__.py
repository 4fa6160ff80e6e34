"""Recordings of what failwell does, to prove that a change of its inside changes nothing that can be seen.

`python -m tests.golden` compares everything with the recordings; `--help` says how to see differences and how to record
again. Only public names are used, and all of them come from `api`, so that a rename is followed in one place.
"""
