"""The logger that everything in failwell writes to."""

import logging

log = logging.getLogger("failwell")
