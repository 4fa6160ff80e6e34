"""SQL errors: SQLSTATE, the numbers of MySQL, MariaDB, Oracle and SQL Server, the names of SQLite and of PEP 249."""

import re

from failwell._lazy import lazy_pattern
from failwell.phrases.meanings import BROKEN, Meaning, Rows, by_number, not_executed, outcome_unknown

_SQLSTATE = lazy_pattern(r"[0-9A-Z]{5}", re.ASCII)


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
    "HYT00": outcome_unknown("QUERY_TIMEOUT"),  # the driver stopped waiting
    "HYT01": "UPSTREAM_TIMEOUT",  # of any request on the connection
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
    "25P04": not_executed("QUERY_TIMEOUT"),
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
    "57014": not_executed("QUERY_TIMEOUT"),
    "57P03": not_executed("SERVICE_UNAVAILABLE"),
    "57P04": "NOT_FOUND",
    "57P05": not_executed("CONNECTION_LOST"),
    "58P01": "FILE_NOT_FOUND",
    "58P02": "ALREADY_EXISTS",
    "70100": not_executed("QUERY_TIMEOUT"),
    "HY008": outcome_unknown("QUERY_TIMEOUT"),
    # what routines raise
    "P0002": "NOT_FOUND",
    "P0003": "AMBIGUOUS",
    "P0004": _REFUSED,
}  # fmt: skip
"""The meaning of a SQLSTATE, by all five characters or by the class they begin with. HY000, which says nothing, is not
here, nor are 00 and 01, which are no errors."""


def meaning_of_sqlstate(state: object) -> Meaning | None:
    """Return what a SQLSTATE means, by the whole of it or by its class; None if that tells nothing."""
    if not isinstance(state, str) or not _SQLSTATE.fullmatch(state):
        return None
    return SQLSTATES.get(state) or SQLSTATES.get(state[:2])


MYSQL_ROWS: Rows = (
    ("UNAUTHORIZED", "1045 1251 1698 1820 1862 2049 2061 3118 4151"),
    ("FORBIDDEN", "1044 1095 1129 1130 1142 1143 1220 1227 1370 1410 1419 3566 3619 3955"),
    ("READ_ONLY", "1036 1223 1290 1792 1836 3989"),
    ("NOT_FOUND", "1008 1032 1049 1091 1094 1106 1109 1128 1141 1147 1176 1193 1243"),
    ("NOT_FOUND", "1305 1360 1396 1449 1477 1539 3162"),
    ("TABLE_NOT_FOUND", "1017 1051 1146 1356 1813"),
    ("COLUMN_NOT_FOUND", "1054 1072"),
    ("ALREADY_EXISTS", "1007 1022 1050 1060 1061 1062 1068 1125 1304 1359 1517 1537 1586 1826 1859 3163"),
    ("FOREIGN_KEY_VIOLATION", "1215 1216 1217 1451 1452 1557 1701 1761 1762 1830 1834 3730 3780"),
    ("CONSTRAINT_VIOLATION", "1048 1263 1364 1369 1566 1748 3673 3819 4025"),
    ("OUT_OF_RANGE", "1264 1416 1441 1690 3669"),
    ("INVALID_ARGUMENT", "1063 1166 1210 1231 1265 1292 1300 1365 1366 1367 1406 1411 1425 1426"),
    ("INVALID_ARGUMENT", "1582 1630 3140 3141 3144"),
    ("ENCODING_ERROR", "1115 1267 1271 1273 3854"),
    ("PAYLOAD_TOO_LARGE", "1118 1153 1301 2020 2029"),
    ("QUERY_ERROR", "1046 1052 1055 1056 1058 1064 1065 1066 1070 1101 1103 1110 1111 1113 1136 1140 1149"),
    ("QUERY_ERROR", "1222 1241 1242 1248 1250 1318 1327 1336 1337 1415 1422 1442"),
    ("NOT_IMPLEMENTED", "1178 1234 1235 1286"),
    ("VALIDATION_ERROR", "1643 1644 1645"),
    (not_executed("QUERY_TIMEOUT"), "1317 1907 1969 3024"),
    ("LOCK_TIMEOUT", "1205 1206 3572"),
    ("RESOURCE_BUSY", "1099 1100 1192 3058"),
    ("RATE_LIMITED", "1226"),
    ("DISK_FULL", "1021 1114"),
    ("CONFIG_ERROR", "2019 2046 2058 2059 2060 2066"),
    ("HOST_NOT_FOUND", "2005"),
    ("CONNECTION_FAILED", "2001 2002 2003 2004 2007 2010"),
    ("CONNECTION_LOST", "1152 1158 1159 1160 1161 1184 1189 1190 1218 1927 2006 2013 2048 2055 3169"),
    ("TLS_VERIFY_FAILED", "2026 2068"),
    ("BAD_UPSTREAM_RESPONSE", "1043 1156 1157 2012 2014 2027 2057"),
    ("OUTCOME_UNKNOWN", "1180"),
    ("SERVICE_UNAVAILABLE", "1053 1077 1079 3168"),
    ("CONCURRENT_MODIFICATION", "1020"),
    (not_executed("DEADLOCK"), "1213 1614 3132"),
    (not_executed("SERIALIZATION_FAILURE"), "1412 3101"),
    (not_executed("RESOURCE_EXHAUSTED"), "1037 1038 1040 1041 1135 1203 1257 1461 2008"),
    (not_executed("CONNECTION_LOST"), "4031"),
    (BROKEN, "1030 1034 1035 1194 1195"),
)
MYSQL = by_number(MYSQL_ROWS)
"""Error numbers of MySQL and MariaDB: of servers from 1000 and 3000, of clients from 2000."""

ORACLE_ROWS: Rows = (
    ("ALREADY_EXISTS", "1 955 1430 1920"),
    ("LOCK_TIMEOUT", "54 4021 30006"),
    (not_executed("DEADLOCK"), "60 4020"),
    (not_executed("SERIALIZATION_FAILURE"), "1555 8176 8177"),
    ("SERVICE_UNAVAILABLE", "1012 1033 1034 1089 1090 12518 12520 12528 12537"),
    (not_executed("RESOURCE_EXHAUSTED"), "18 20 4030 4031 12516 12519"),
    ("UNAUTHORIZED", "1005 1017 28000 28001 28009"),
    ("FORBIDDEN", "990 1031 1045 41900"),
    ("READ_ONLY", "1456 16000"),
    ("TABLE_NOT_FOUND", "942"),
    ("COLUMN_NOT_FOUND", "904"),
    ("NOT_FOUND", "1403 1418 1918 2289 4043 12505 12514"),
    ("AMBIGUOUS", "1422"),
    ("CONSTRAINT_VIOLATION", "1400 1407 2290 1402"),
    ("FOREIGN_KEY_VIOLATION", "2266 2291 2292"),
    ("INVALID_ARGUMENT", "1722 1830 1840 1843 1858 1861 1847 6502 12899"),
    ("OUT_OF_RANGE", "1426 1438 1455"),
    ("QUERY_ERROR", "900 903 905 906 907 909 911 913 917 918 920 921 923 932 933 936 937 947 972 979"),
    ("QUERY_ERROR", "1008 1036 1756 6550"),
    (not_executed("QUERY_TIMEOUT"), "1013 40"),
    ("CONNECT_TIMEOUT", "12170"),
    ("UPSTREAM_TIMEOUT", "12535"),
    ("CONNECTION_REFUSED", "12541"),
    ("CONNECTION_FAILED", "12543 12545"),
    ("HOST_NOT_FOUND", "12533"),
    ("CONNECTION_LOST", "28 3113 3114 3135 2396 12560 25408"),
    ("CONFIG_ERROR", "12154"),
    ("DISK_FULL", "257 1652 1653 1654 1688"),
    ("VALIDATION_ERROR", " ".join(str(number) for number in range(20000, 21000))),
)
ORACLE = by_number(ORACLE_ROWS)
"""Numbers of ORA errors; from 20000 on they are those that routines raise."""

SQL_SERVER_ROWS: Rows = (
    ("ALREADY_EXISTS", "1505 1801 2601 2627 2714 2705 15023 15025"),
    (not_executed("DEADLOCK"), "1205"),
    (not_executed("SERIALIZATION_FAILURE"), "3960 41302 41305 41325"),
    ("LOCK_TIMEOUT", "1222"),
    ("UNAUTHORIZED", "18452 18456 18470 18486 18487 18488"),
    ("FORBIDDEN", "229 230 262 297 300 916 15247 40615"),
    ("READ_ONLY", "3906"),
    ("TABLE_NOT_FOUND", "208"),
    ("COLUMN_NOT_FOUND", "207"),
    ("NOT_FOUND", "911 2812 3701 4060 15151"),
    ("CONSTRAINT_VIOLATION", "515 2628"),
    ("FOREIGN_KEY_VIOLATION", "547"),
    ("INVALID_ARGUMENT", "206 241 242 245 8114 8134 8152 8169"),
    ("OUT_OF_RANGE", "220 232 8115"),
    ("QUERY_ERROR", "102 105 109 120 156 170 201 209 213 8120 8144"),
    (not_executed("RESOURCE_EXHAUSTED"), "701 802 8645 10928 10929 17809"),
    ("RATE_LIMITED", "40501 49918 49919 49920"),
    ("SERVICE_UNAVAILABLE", "40197 40613 42108 42109 40143 40166"),
    ("DISK_FULL", "1101 1105 9002"),
    ("CONNECTION_FAILED", "20002 20009"),
    ("CONNECTION_LOST", "64 233 10053 10054 20003 20004 20006 20047"),
    (not_executed("QUERY_TIMEOUT"), "3617"),
    (outcome_unknown("QUERY_TIMEOUT"), "-2"),  # the client stopped waiting
    ("VALIDATION_ERROR", "50000"),
)
SQL_SERVER = by_number(SQL_SERVER_ROWS)
"""Error numbers of SQL Server, and of the FreeTDS client from 20000."""

ORACLE_DRIVER: dict[object, Meaning] = {
    "DPY-1001": not_executed("CONNECTION_LOST"),
    "DPY-4001": not_executed("UNAUTHORIZED"),
    "DPY-4000": "CONFIG_ERROR",
    "DPY-4026": "CONFIG_ERROR",
    "DPY-4027": "CONFIG_ERROR",
    "DPY-4005": "POOL_TIMEOUT",
    "DPY-4011": "CONNECTION_LOST",
    "DPY-4024": "UPSTREAM_TIMEOUT",
    "DPY-6000": "CONNECTION_FAILED",
    "DPY-6001": "NOT_FOUND",
    "DPY-6003": "NOT_FOUND",
    "DPY-6005": "CONNECTION_FAILED",
}
"""Codes of python-oracledb's own errors."""


SQLITE_NAMES: tuple[tuple[str, Meaning], ...] = (
    ("SQLITE_BUSY", "LOCK_TIMEOUT"),
    ("SQLITE_LOCKED", "LOCK_TIMEOUT"),
    ("SQLITE_PROTOCOL", "LOCK_TIMEOUT"),
    ("SQLITE_CONSTRAINT_UNIQUE", "ALREADY_EXISTS"),
    ("SQLITE_CONSTRAINT_PRIMARYKEY", "ALREADY_EXISTS"),
    ("SQLITE_CONSTRAINT_ROWID", "ALREADY_EXISTS"),
    ("SQLITE_CONSTRAINT_FOREIGNKEY", "FOREIGN_KEY_VIOLATION"),
    ("SQLITE_CONSTRAINT", "CONSTRAINT_VIOLATION"),
    ("SQLITE_FULL", {"code": "DISK_FULL", "outcome": "rejected"}),
    ("SQLITE_READONLY", "READ_ONLY"),
    ("SQLITE_PERM", "FORBIDDEN"),
    ("SQLITE_AUTH", "FORBIDDEN"),
    ("SQLITE_CANTOPEN", "FILE_NOT_FOUND"),
    ("SQLITE_INTERRUPT", not_executed("QUERY_TIMEOUT")),
    ("SQLITE_TOOBIG", "PAYLOAD_TOO_LARGE"),
    ("SQLITE_MISMATCH", "INVALID_ARGUMENT"),
    ("SQLITE_NOMEM", {"code": "RESOURCE_EXHAUSTED", "outcome": "rejected"}),
    ("SQLITE_SCHEMA", "CONCURRENT_MODIFICATION"),
    ("SQLITE_NOTADB", "PARSE_ERROR"),
    ("SQLITE_CORRUPT", {"code": "INTERNAL_ERROR"}),
    ("SQLITE_IOERR", {"code": "INTERNAL_ERROR"}),
    ("SQLITE_ERROR", "QUERY_ERROR"),
)
"""How the names of SQLite's errors begin; the first that fits counts."""

SQLITE_SENTENCES: tuple[tuple[str, str], ...] = (
    ("database is locked", "SQLITE_BUSY"),
    ("database table is locked", "SQLITE_LOCKED"),
    ("database schema is locked", "SQLITE_LOCKED"),
    ("locking protocol", "SQLITE_PROTOCOL"),
    ("UNIQUE constraint failed", "SQLITE_CONSTRAINT_UNIQUE"),
    ("FOREIGN KEY constraint failed", "SQLITE_CONSTRAINT_FOREIGNKEY"),
    ("NOT NULL constraint failed", "SQLITE_CONSTRAINT_NOTNULL"),
    ("CHECK constraint failed", "SQLITE_CONSTRAINT_CHECK"),
    ("database or disk is full", "SQLITE_FULL"),
    ("attempt to write a readonly database", "SQLITE_READONLY"),
    ("access permission denied", "SQLITE_PERM"),
    ("authorization denied", "SQLITE_AUTH"),
    ("not authorized", "SQLITE_AUTH"),
    ("unable to open database file", "SQLITE_CANTOPEN"),
    ("interrupted", "SQLITE_INTERRUPT"),
    ("string or blob too big", "SQLITE_TOOBIG"),
    ("datatype mismatch", "SQLITE_MISMATCH"),
    ("out of memory", "SQLITE_NOMEM"),
    ("database schema has changed", "SQLITE_SCHEMA"),
    ("file is not a database", "SQLITE_NOTADB"),
    ("database disk image is malformed", "SQLITE_CORRUPT"),
    ("disk I/O error", "SQLITE_IOERR"),
    ("no such ", "SQLITE_ERROR"),
)
"""How the sentences of SQLite begin that stand for these errors, for drivers that pass on nothing else."""

DRIVER_CLASSES = {
    "IntegrityError": "CONSTRAINT_VIOLATION",
    "ProgrammingError": "QUERY_ERROR",
    "DataError": "INVALID_ARGUMENT",
    "OperationalError": "CONNECTION_LOST",
    "InterfaceError": "CONNECTION_LOST",
    "NotSupportedError": "NOT_IMPLEMENTED",
}
"""Names of PEP 249, which every database driver uses for its classes."""
