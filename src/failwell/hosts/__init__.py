"""MCP servers in the configuration of hosts: where the files are, what they hold, and how the proxy gets in front.

A file is never written anew: a scanner gives the position of each value, and a change replaces the characters of single
values. So comments, order and spacing stay, and a change can be taken back exactly.
"""
