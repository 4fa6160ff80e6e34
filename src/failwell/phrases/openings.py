"""How an error begins where nothing flags it: the word for an error in every language that is read, verbs, stop words."""

PREDICATES: dict[str, tuple[str, ...]] = {
    "error": (
        "[Ee]rror", "ERROR", "Exception", "Failure", "Failed",
        "Fehler", "Erreur", "Errore", "Erro", "Fallo", "Ошибка", "エラー", "错误", "錯誤", "오류", "에러",
    ),
}  # fmt: skip
"""The word that an error text begins with, by what it says."""

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

DOUBLED: frozenset[str] = frozenset(("commit", "get", "run", "set", "stop", "submit", "stat"))
"""Verbs that double their last letter before `ing`."""

ERROR_WORDS: frozenset[str] = frozenset(
    (
        "error", "errors", "fail", "failed", "failure", "not", "found", "invalid", "missing", "denied", "timeout",
        "the", "and", "for", "with", "from", "this", "that", "file", "files", "message", "text", "select", "where",
        "null", "true", "false", "none", "request", "status", "code", "name", "key", "value", "user", "data", "print",
    )
)  # fmt: skip
"""Words that tie no text to a call, because errors and requests use them anyway."""
