"""What a tool is for, judged by its name and arguments; this decides what an error text in its result proves."""

from enum import Enum
from functools import lru_cache

from failwell.phrases.language import plain_name
from failwell.reading.context import Context


class Role(Enum):
    """What a tool does with its result, as far as its name and its arguments tell, and what proves an error then."""

    UNKNOWN = "nothing is known", "an opening that only errors have, or an error object"
    ACTION = (
        "the result reports what was done",
        "an opening of an error, a sentence about what went wrong, an error object",
    )
    LOOKUP = "the result is what was looked up", "an opening that only errors have, a sentence about what was sent"
    SEARCH = "nothing found is a result", "an opening that only errors have"
    QUESTION = "a negative answer is a result", "an opening that only errors have, and words of this call"
    CONTENT = "the result is a text that somebody else wrote", "an error that quotes what was sent, or names the tool"

    def __init__(self, meaning: str, proof: str) -> None:
        self.meaning = meaning
        self.proof = proof


ACTION_WORDS = frozenset(
    (
        "activate", "add", "append", "apply", "approve", "archive", "assign", "attach", "ban", "block", "book",
        "cancel", "clear", "click", "clone", "close", "commit", "connect", "copy", "create", "deactivate",
        "delete", "deploy", "detach", "disable", "disconnect", "dismiss", "drag", "edit", "enable", "hset",
        "import", "ingest", "insert", "install", "invite", "kick", "kill", "launch", "link", "lock", "lpush",
        "make", "mark", "merge", "move", "mute", "navigate", "patch", "pause", "pay", "post", "press", "publish",
        "push", "put",
        "rebase", "register", "reject", "remove", "rename", "replace", "reply", "report", "reset", "resize",
        "restart", "restore", "resume", "revert", "revoke", "rpush", "sadd", "save", "schedule", "send", "set",
        "share", "start", "stop", "submit", "subscribe", "swipe", "tap", "terminate", "transfer", "trigger",
        "undo", "uninstall", "unlink", "unlock", "unsubscribe", "update", "upload", "upsert", "write", "xadd",
    )
)  # fmt: skip
"""Words in the name of a tool that changes something."""

_QUESTION_WORDS = frozenset(
    (
        "assert", "audit", "available", "can", "check", "checker", "checks", "compare", "compile", "contains",
        "define", "definition", "diagnose", "diagnostics", "diff", "error", "errors", "eslint", "exception",
        "exceptions", "exist", "exists", "explain", "failed", "failure", "failures", "grammar", "has", "health",
        "is", "lint", "linter", "monitor", "ping", "probe", "pytest", "scan", "spelling", "state", "status",
        "test", "tests", "valid", "validate", "validator", "verify", "whoami",
    )
)  # fmt: skip
_CONTENT_WORDS = frozenset(
    (
        "alert", "alerts", "ask", "bash", "browse", "browser", "cache", "calculate", "calculator", "cat",
        "chat", "clipboard", "cmd", "code", "command", "commands", "comments", "complete", "completion",
        "compute", "console", "content", "contents", "convert", "crawl", "decode", "decrypt", "docker",
        "download", "dump", "echo", "email", "encode", "eval", "evaluate", "events", "exec", "execute",
        "extract", "fact", "format", "generate", "head", "headline", "hget", "hgetall", "history", "horoscope",
        "incident", "incidents", "issue", "issues", "javascript", "joke", "journal", "js", "kubectl", "kv",
        "lindex", "load", "log", "logs", "lpop", "lrange", "lyrics", "mail", "math", "message", "messages",
        "news", "ocr", "open", "output", "peek", "poem", "pop", "preview", "print", "problem", "problems",
        "python", "quote", "read", "render", "repl", "resource", "rpop", "run", "scrape", "script", "shell",
        "show", "snapshot", "ssh", "stderr", "stdout", "story", "summarise", "summarize", "summary", "tail",
        "template", "terminal", "text", "thread", "ticket", "tickets", "transcribe", "transcript", "translate",
        "unescape", "value", "view",
    )
)  # fmt: skip
LOOKUP_WORDS = frozenset(
    (
        "describe", "details", "fetch", "get", "info", "list", "lookup", "query", "retrieve", "sql",
    )
)  # fmt: skip
"""Words in the name of a tool that looks something up."""

_SEARCH_WORDS = frozenset(
    (
        "discover", "filter", "find", "grep", "locate", "match", "search", "suggest", "suggestions",
    )
)  # fmt: skip
# An argument with such a name says where a text is that somebody else wrote.
_CONTENT_ARGUMENTS = frozenset(
    (
        "cmd", "code", "command", "file", "file_path", "filename", "filepath", "key", "path", "prompt", "uri",
        "url",
    )
)  # fmt: skip
_QUERY_ARGUMENTS = frozenset(
    (
        "query", "sql", "statement",
    )
)  # fmt: skip


@lru_cache(maxsize=1024)
def tool_words(name: str) -> frozenset[str]:
    """Return the words in the name of a tool."""
    return frozenset(plain_name(name).split())


def role_of(context: Context) -> Role:
    """Return what the tool of a call is for."""
    return _role(context.tool, context.names) if context.tool else Role.UNKNOWN


@lru_cache(maxsize=1024)
def _role(tool: str, arguments: tuple[str, ...]) -> Role:
    words = tool_words(tool)
    if words & ACTION_WORDS:
        return Role.ACTION
    if words & _QUESTION_WORDS:
        return Role.QUESTION
    if words & _SEARCH_WORDS:
        return Role.SEARCH
    names = {name.lower() for name in arguments}
    if names & _QUERY_ARGUMENTS and not words & {"shell", "bash", "python", "code"}:
        return Role.LOOKUP
    if words & _CONTENT_WORDS:
        return Role.CONTENT
    if words & LOOKUP_WORDS:
        return Role.CONTENT if names & _CONTENT_ARGUMENTS else Role.LOOKUP
    return Role.ACTION


# Somebody else wrote what such a tool returns, but it returns it as records: an error and nothing else is none of them.
_RECORD_WORDS = frozenset(
    ("alerts", "comments", "email", "events", "incidents", "issues", "mail", "messages", "news", "problems", "tickets")
)


def lists_records(context: Context) -> bool:
    """Tell whether what somebody else wrote is content of records, and not the result itself."""
    words = tool_words(context.tool or "")
    names = {name.lower() for name in context.names}
    return words & _CONTENT_WORDS <= _RECORD_WORDS and not names & _CONTENT_ARGUMENTS
