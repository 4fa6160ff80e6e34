"""Wordings of MCP servers, git and URL parsers."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="unknown tool",
        code="UNKNOWN_TOOL",
        evidence="MCP SDKs and servers that look tools up by name.",
        phrases="""
            unknown tool
            tool (named|with name|called)? ~ (was)? not found
            tool not found
            no such tool
            there is no tool ~
            no tool (named|called|with|found)
            unknown (function|command) name
            tool ~ (does not exist|is not available|not available|is not registered|not registered)
            method ~ not found
            unknown method
            unrecognized tool
        """,
        unless="your (current)? (plan|tier|subscription|account|region|country)",
        confidence=0.93,
    ),
    Rule(
        name="not a git repository",
        code="NOT_FOUND",
        evidence="git and its libraries.",
        phrases="""
            not a git repository
            invalid git repository
            unknown revision
            bad revision
            bad object
            did not match any file
            did not match any branch
            did not resolve to an object
            could not find remote ref
            reference is not a tree
            repository not found
            no such ref
            not a valid object name
            not something we can merge
            could not find repository
        """,
        confidence=0.85,
    ),
    Rule(
        name="address not valid",
        code="INVALID_URL",
        evidence="URL parsers and HTTP clients.",
        phrases="""
            (invalid|malformed|bad) (or missing|or unsupported)? (url|uri|scheme|protocol)
            (unsupported|unknown|missing) (or missing|or unsupported)? (url|uri|scheme|protocol)
            (invalid|malformed|bad) (or missing|or unsupported)? (connection string|hostname|port number)
            (unsupported|unknown|missing) (or missing|or unsupported)? (connection string|hostname|port number)
            (unsupported|invalid|unknown|missing) ~ (url|uri) (scheme|protocol)?
            (url|uri) ~ (invalid|malformed|not valid|is not a valid)
            not a valid (url|uri)
            no (scheme|host) (supplied|given|specified)
            no connection adapters were found
            only absolute urls
            relative url without a base
            must start with http
            failed to parse url
            connection string ~ (invalid|expected|must|malformed)
            expected connection string
            unsupported protocol
            protocol ~ (is not|not) supported
            err invalid (url|protocol)
        """,
        unless="""
            missing ~ or ~ (url|uri)
            missing ~ (url|uri) or
            missing ~ and ~ (url|uri)
        """,
        confidence=0.9,
    ),
    Rule(
        name="two changes collide",
        code="CONFLICT",
        evidence="git, version checks and optimistic locks.",
        phrases="""
            merge conflict*
            would be overwritten by
            nothing to commit
            local changes
            non fast forward
            version (conflict|mismatch)
            (was|has been) (modified|changed|updated) (by|since|concurrently|elsewhere)
            etag mismatch
            edit conflict
            update conflict
            conflict with ~ (current|existing|another)
            uncommitted changes
            no upstream branch
            no configured push destination
            no tracking information
            unrelated histories
            no changes (staged|added|to commit)
            not possible to fast forward
            cannot (delete|remove) ~ (in use|checked out|current branch)
            is not fully merged
        """,
        confidence=0.85,
    ),
)
