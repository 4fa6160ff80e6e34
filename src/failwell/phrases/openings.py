"""How unflagged error texts begin: openings that only errors have, and openings that prose has too."""

_ERROR = (
    "[Ee]rror|ERROR|Exception|Failure|Failed"
    "|Fehler|Erreur|Errore|Erro|Fallo|\u041e\u0448\u0438\u0431\u043a\u0430|エラー|错误|錯誤|오류|에러"
)
ERROR_NAMES: str = f"(?:{_ERROR})"
"""The word for an error in every language that is read, as a pattern."""

MACHINE_VERBS: tuple[str, ...] = (
    "access", "acquire", "add", "allocate", "apply", "assign", "attach", "authenticate", "authorize", "build", "call",
    "cancel", "change", "commit", "compile", "complete", "connect", "convert", "copy", "create", "decode", "delete",
    "deploy", "deserialize", "determine", "download", "edit", "encode", "establish", "evaluate", "execute", "export",
    "extract", "fetch", "find", "generate", "get", "import", "initialize", "insert", "install", "invoke", "launch",
    "list", "load", "locate", "lock", "merge", "modify", "mount", "move", "obtain", "open", "parse", "perform",
    "process", "publish", "push", "query", "reach", "read", "receive", "remove", "rename", "render", "resolve",
    "retrieve", "run", "save", "schedule", "scale", "search", "send", "set", "start", "stat", "stop", "store", "submit",
    "update", "upload", "validate", "verify", "write",
)  # fmt: skip
"""What programs fail to do."""

_DOUBLED = frozenset(("commit", "get", "run", "set", "stop", "submit", "stat"))
_VERBS = "|".join(MACHINE_VERBS)
_GERUNDS = "|".join(f"{verb.removesuffix('e')}{verb[-1] if verb in _DOUBLED else ''}ing" for verb in MACHINE_VERBS)

MARK = r"(?::\w{1,20}: )?[^\w\[\](){}\"'`<|]{0,8}"
"""What may stand before an opening: a sign, such as a cross, or the marks of a heading."""

STRONG: tuple[str, ...] = (
    # Error: …, Database error: …, **Error**: …, API error (429): …
    (
        r"(?!(?:\w{1,20} ){1,3}[Ee]rrors?: ?(?:[Nn]one|null|n/a|-?\d[\d.,]{0,20}%?)\s{0,4}(?:$|\n))"  # a figure
        r"\[?(?:(?!(?:the|a|an|no|this|that) )[A-Za-z][\w.-]{0,40} ){0,3}"
        rf"{ERROR_NAMES}(?:\]|\*\*|\)| \(\d{{3}}\))?\s?[:\uff1a\-\u2013—]"
    ),
    r"\[ERROR\] ",
    r"\[(?:Errno|WinError) -?\d+\] ",
    r"ERR_[A-Z_]{3,40}\b",
    # ValueError: …, psycopg2.errors.UniqueViolation: …
    r"\w{0,40}(?:Error|Exception): ",
    r"(?:[a-z_]\w{0,40}\.){1,6}[A-Z]\w{2,60}: ",
    r"Traceback \(most recent call last\)",
    # Error fetching x: …, Error while reading: …, Error 1045: …
    (
        r"Error (?!(?:handling|reporting|logging|tracking|checking|monitoring)(?: in | with | for | and |:))"
        r"(?:[a-z]+ing|in|from|while|during|occurred|\d{3,5})\b[^\n]{0,200}?:"
    ),
    rf"Error (?:{_GERUNDS})\b[^\n.]{{0,100}}\. [A-Z]",
    r"Error (?:response|reply) from ",
    (
        r"(?!(?:[Tt]he|[Nn]o|[Tt]his|[Tt]hat|[Ll]ast|[Ff]irst) )(?:[A-Za-z]+ ){1,3}"
        r"(?:error|exception) (?:has )?(?:occurred|happened)"
    ),
    rf"(?:Failed|Unable) to (?:{_VERBS})\b",
    rf"(?:Could ?n[o']t|Could not|Cannot|Can't|Can not) (?:{_VERBS})\b",
    # HTTP 404: …, 409 Client Error: …, Request failed with status code 503
    r"(?:HTTP|API)(?:Error)?:? (?:error )?\(?[45]\d\d\b",
    r"[45]\d\d (?:Client|Server) Error\b",
    r"Request failed with status(?: code)? [45]\d\d",
    r"Error code: \d",
    (
        r"(?:Access|Permission|Authentication|Authorization|Request|Query|Command|Connection|Operation|Validation|Tool)"
        r" (?:is |was |has |execution |call )?(?:denied|failed|refused|required|timed out|not allowed|error)"
        r"(?: ?[:.,!\u2013—-]| \((?=\d|(?i:code|error|http|status|reason|no |not |need|missing))"
        r"| for | to | by | after |$)"
    ),
    r"(?:Security|Policy|Access) violation: ",
    r"(?:Unauthorized|Forbidden|Bad Request|Conflict|Internal Server Error|Service Unavailable|Too Many Requests): ",
    r"(?:fatal|error|panic): ",
    r"MCP error -\d",
    r"getaddrinfo E[A-Z]+",
    # What services answer with, and nothing else
    (
        r"(?:Unauthorized|Forbidden|Bad [Rr]equest|Internal [Ss]erver [Ee]rror|Bad [Gg]ateway|Service [Uu]navailable"
        r"|Gateway [Tt]imeout)[.!]?$"
    ),
    r"(?:[Rr]ate limit (?:exceeded|reached|hit)|Too [Mm]any [Rr]equests|Something went wrong)[.!,]?(?: [^\n]{1,120})?$",
    r"The requested (?:resource|page|item|object|endpoint|record) (?:was not|is not|could not be) [^\n]{1,60}$",
    (
        r"(?:Missing|Invalid|Unknown|Unsupported) (?:required )?(?:parameter|argument|input|field)s?: "
        r"(?!\d|[Nn]one|null)[^\n]{1,160}$"
    ),
    r"(?:/bin/)?(?:ba|z|da)?sh:(?: line)?(?: \d{1,5}:)? [^\n:]{1,80}: (?:command )?not found$",
    r"(?:I'm |I am |We're |We are )?[Ss]orry,? ",
    r"Oops",
)
"""Openings that say of themselves that they are an error's."""

NAMED: tuple[str, ...] = (
    rf"\[?(?:[\w.-]{{1,40}} ){{0,3}}{ERROR_NAMES}",
    r"\w{0,40}(?:Error|Exception)\b",
    r"fatal:",
    r"(?:Failed|Unable) to",
    r"Could|Can",
)
"""Openings that say that something went wrong, whatever follows."""

WEAK: tuple[str, ...] = (
    r"(?:Failed|Unable) to [a-z]",
    r"(?:Could ?n[o']t|Could not|Cannot|Can't|Can not) [a-z]",
    (
        r"(?:Invalid|Unknown|Unsupported|Unrecognized|Missing|Illegal|Bad|Insufficient)"
        r"(?: [\w'\"`/*-]{1,40}){1,4}(?:[:.!(]|$)"
    ),
    r"(?:[\w'`\"-]{1,40} ){1,6}(?:failed|not found|denied|rejected|not allowed|timed out)(?:[:.!(]| - |$)",
    r"[\w'`\"]{1,40} (?:must|has to|may not|is required)\b",
    r"(?:[\w'`\"#:.-]{1,60} ){1,6}(?:does not exist|could not be found)\b",
    r"Please (?:provide|specify|supply|enter|pass|log in|sign in|authenticate)\b",
    r"No such ",
    r"Not found(?:[:.]|$)",
    # cat: a.txt: No such file or directory
    r"[\w./-]{1,60}: (?:[^\n:]{1,100}: )?(?:cannot|can't|[Nn]o such|[Pp]ermission|not found)",
)
"""Openings of errors that prose may have too: more must speak for an error."""

TITLE = (
    r"(?:[^\w\s]{1,4} ?)?(?:\*\*)?(?:[\w'`\"/-]{1,40} ){0,4}"
    r"(?:failed|error|not found|denied|unavailable|timed out|rejected|not allowed|invalid|forbidden|unauthorized"
    r"|already exists|required|exceeded)(?:\*\*)?(?: ?[-:\u2013—(!]| in | for | [a-z]+ing |$)"
)
"""The title of a failure, as a heading has it: `Edit Failed - Note Not Found`."""

BARE = rf"{MARK}{ERROR_NAMES}\W{{0,4}}|(?:An? )?(?:unknown |unexpected )?error(?: occurred)?\W{{0,4}}"
"""A text that says that something failed, and nothing else."""

CONFIRMATIONS: tuple[str, ...] = (
    r"success\w*", r"\bcreated\b", r"\bsaved\b", r"\badded\b", r"\bupdated\b", r"\brenamed\b", r"\bmarked\b",
    r"\bcleared\b", r"\bsent\b", r"\bdismissed\b", r"\bremoved\b", r"\bdeleted\b", r"\bpushed\b", r"\bnow\b",
    r"\bretried\b", r"\bcancelled\b", r"\bset to\b", r"\bjust kidding\b", r"\bany ?more\b", r"\bno longer\b",
    r"\bresolved\b", r"\barchived\b",
)  # fmt: skip
"""Words that say that something was done, where no negation stands before them."""

LISTED: tuple[str, ...] = (
    r"\[?\d{4}-\d\d-\d\d", r"[A-Z][a-z]{2} [ \d]\d ", r"\[?\d\d:\d\d:\d\d",
    r"\[?(?:INFO|DEBUG|WARN|WARNING|TRACE|NOTICE)\b",
    r"#{1,6} ", r"[-*•] ", r"\d{1,4}[.:)|] ", r"[|>] ?[^*]", r" {4}at ",
)  # fmt: skip
"""How lines of a log or a document begin: a time, a level, a heading, a bullet, a number, a cell, a frame."""

COMMON_WORDS: frozenset[str] = frozenset(
    (
        "error", "errors", "fail", "failed", "failure", "not", "found", "invalid", "missing", "denied", "timeout",
        "the", "and", "for", "with", "from", "this", "that", "file", "files", "message", "text", "select", "where",
        "null", "true", "false", "none", "request", "status", "code", "name", "key", "value", "user", "data", "print",
    )
)  # fmt: skip
"""Words that tie no text to a call, because errors and requests use them anyway."""
