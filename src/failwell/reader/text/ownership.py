"""Tell a failure about what the caller sent from one about the server's own files and settings."""

import re

from failwell.reader.text.context import Context

# Names of arguments that may hold a path, a command or a query.
_PATH_LIKE = re.compile(
    r"path|file|dir|folder|uri|url|src|source|dest|target|image|doc|book|name|cwd|root|location|key|id$|repo|script|command"
    r"|cmd|code|query|sql|expression|input|output|data|content|json|body|text|template|config|table|ref|branch|project",
    re.IGNORECASE,
)
_PATH = re.compile(r"[/\\\\]|\.\w{1,5}$")


def is_servers_own(code: str, text: str, context: Context) -> bool:
    """Tell whether nothing that was sent can be what the text complains of."""
    if not context.is_known or not context.schema:
        return False
    if code == "PARSE_ERROR":
        return not context.arguments and not context.problems
    if code == "ALREADY_EXISTS":
        return not context.arguments
    for keys, value in context.values:
        if not isinstance(value, str):
            continue
        named = [key for key in keys if isinstance(key, str)]
        if (
            _PATH.search(value)
            or (len(value) > 2 and value in text)
            or (len(named) == 1 and _PATH_LIKE.search(named[0]))
        ):
            return False
    return not context.problems
