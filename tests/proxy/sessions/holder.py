"""The process of a scripted server: `python holder.py SOCKET` hands its standard input and output to the script.

The script talks to the proxy through them, and says over the socket how the process ends: `exit CODE` or `kill`.
"""

import os
import signal
import socket
import sys

with socket.socket(socket.AF_UNIX) as control:
    control.connect(sys.argv[1])
    socket.send_fds(control, [b"%d" % os.getpid()], [0, 1])
    word, _, code = control.recv(64).decode().partition(" ")
    if word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(int(code or 0))
