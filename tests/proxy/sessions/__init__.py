"""Scripted sessions through both proxies, played from the outside and compared with what was recorded.

`python -m tests.proxy.sessions` plays them all and shows what is different, `--write` records them anew.
"""
