"""SQL errors by SQLSTATE, whichever database and driver reports it."""

import re

from failwell.mapping.meanings import BROKEN, Meaning, not_executed

_SQLSTATE = re.compile(r"[0-9A-Z]{5}", re.ASCII)


_REFUSED: Meaning = {"code": "INTERNAL_ERROR", "outcome": "rejected"}  # the tool's own mistake

SQLSTATES: dict[str, Meaning] = {
    # classes: the first two characters
    "02": "NOT_FOUND",
    "08": "CONNECTION_LOST",
    "09": "QUERY_ERROR",
    "0A": "NOT_IMPLEMENTED",
    "0L": "FORBIDDEN",
    "0P": "FORBIDDEN",
    "10": "QUERY_ERROR",
    "20": "QUERY_ERROR",
    "21": "QUERY_ERROR",
    "22": "INVALID_ARGUMENT",
    "23": "CONSTRAINT_VIOLATION",
    "27": "CONFLICT",
    "28": "UNAUTHORIZED",
    "2B": "CONFLICT",
    "2F": "QUERY_ERROR",
    "38": BROKEN,
    "39": BROKEN,
    "3D": "NOT_FOUND",
    "3F": "NOT_FOUND",
    "40": not_executed("SERIALIZATION_FAILURE"),
    "42": "QUERY_ERROR",
    "44": "CONSTRAINT_VIOLATION",
    "53": not_executed("RESOURCE_EXHAUSTED"),
    "54": "QUERY_ERROR",
    "55": "PRECONDITION_FAILED",
    "57": "SERVICE_UNAVAILABLE",
    "58": BROKEN,
    "72": not_executed("SERIALIZATION_FAILURE"),
    "F0": "CONFIG_ERROR",
    "HV": BROKEN,
    "IM": "CONFIG_ERROR",
    "P0": "VALIDATION_ERROR",
    "XX": BROKEN,
    **dict.fromkeys(("03", "0B", "0F", "0Z", "24", "25", "26", "2D", "34", "3B"), _REFUSED),
    # connections
    "08001": "CONNECTION_FAILED",
    "08004": not_executed("SERVICE_UNAVAILABLE"),
    "HV00N": "CONNECTION_FAILED",
    "HYT00": "QUERY_TIMEOUT",
    "HYT01": "CONNECT_TIMEOUT",
    # values
    "22003": "OUT_OF_RANGE",
    "22008": "OUT_OF_RANGE",
    "22021": "ENCODING_ERROR",
    "22P05": "ENCODING_ERROR",
    **dict.fromkeys(("22030", "22032", "2200L", "2200M", "2200N", "2200S", "2200T"), "PARSE_ERROR"),
    # constraints
    "23001": "FOREIGN_KEY_VIOLATION",
    "23503": "FOREIGN_KEY_VIOLATION",
    "23505": "ALREADY_EXISTS",
    "23P01": "CONFLICT",
    # transactions
    "25006": "READ_ONLY",
    "25P02": "FAILED_DEPENDENCY",
    "25P03": not_executed("TIMEOUT"),
    "25P04": "QUERY_TIMEOUT",
    "40002": "CONSTRAINT_VIOLATION",
    "40003": "OUTCOME_UNKNOWN",
    "40P01": not_executed("DEADLOCK"),
    # names
    "42501": "FORBIDDEN",
    "42P01": "TABLE_NOT_FOUND",
    "42S02": "TABLE_NOT_FOUND",
    "42703": "COLUMN_NOT_FOUND",
    "42S22": "COLUMN_NOT_FOUND",
    **dict.fromkeys(("42704", "42883", "42S12", "HV00R"), "NOT_FOUND"),
    **dict.fromkeys(("42701", "42710", "42723", "42P03", "42P04", "42P05", "42P06", "42P07", "42S01", "42S11", "42S21"),
                    "ALREADY_EXISTS"),
    # what the server can do for now
    "53100": "DISK_FULL",
    "54000": "PAYLOAD_TOO_LARGE",
    "55006": "RESOURCE_BUSY",
    "55P02": "FORBIDDEN",
    "55P03": "LOCK_TIMEOUT",
    "57014": "QUERY_TIMEOUT",
    "57P03": not_executed("SERVICE_UNAVAILABLE"),
    "57P04": "NOT_FOUND",
    "57P05": not_executed("CONNECTION_LOST"),
    "58P01": "FILE_NOT_FOUND",
    "58P02": "ALREADY_EXISTS",
    "70100": "QUERY_TIMEOUT",
    "HY008": "QUERY_TIMEOUT",
    # what routines raise
    "P0002": "NOT_FOUND",
    "P0003": "AMBIGUOUS",
    "P0004": _REFUSED,
}  # fmt: skip
"""The meaning of a SQLSTATE, by all five characters or by the class they begin with. HY000, which says nothing, is not
here, nor are 00 and 01, which are no errors."""


def verdict_for_sqlstate(state: object) -> Meaning | None:
    """Return what a SQLSTATE means, by the whole of it or by its class; None if that tells nothing."""
    if not isinstance(state, str) or not _SQLSTATE.fullmatch(state):
        return None
    return SQLSTATES.get(state) or SQLSTATES.get(state[:2])
