"""MCP servers in the configuration of hosts: find the files, read them, and put the proxy in front of servers.

A file is never written anew: a scanner gives the position of each value, and a change replaces the characters of single
values. So comments, order and spacing stay, and a change can be taken back exactly.
"""
