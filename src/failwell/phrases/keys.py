"""Keys of error objects and what each means, whatever its spelling.

`retry_after`, `retryAfter` and `Retry-After` are one name.
"""

from functools import lru_cache

from failwell._lazy import lazy_pattern

_LONGEST = 80

# What a key is about, and its names: in lower case, without `_`, `-`, `.`, `@`, `$` and blanks.
ROLES: dict[str, str] = {
    "code": """code errorcode errcode errno errornumber errorno subcode errorsubcode errorkey faultcode exceptioncode
        sqlstate declinecode statusreason errortag apicode internalcode oauthcode codename
        networkerrorcode errorcodes messagecode resultcode returncode rc issue ecode""",
    "kind": """type errortype reason name errorname kind errorkind exception exceptiontype exceptionclass errorclass
        errorreason cause failurereason failurecode failuretype""",
    "category": "category errorcategory class recovery errorgroup failurecategory failureclass",
    "text": """message msg errormessage errormsg errmsg errordescription detail details title description text
        customermessage usermessage developermessage technicalmessage internalmessage localizedmessage errorsummary
        errordetail errordetails statustext statusmessage faultstring displaymessage friendlymessage explanation summary
        stderr errormessages errstr longmessage shortmessage what why note diagnostics""",
    "error": "error err errors fault failure failures problem problems",
    "retry": """retryable isretryable retriable isretriable shouldretry canretry retry transient istransient temporary
        istemporary mayretry retryallowed retrypossible isretryallowed retryrecommended""",
    "final": """permanent ispermanent fatal isfatal terminal isterminal nonretryable nonretriable isnonretryable
        donotretry noretry dontretry final isfinal""",
    "recoverable": "recoverable isrecoverable",
    "hint": """hint hints suggestion suggestions suggestedaction suggestedactions remediation resolution howtofix fix
        recommendedaction recommendation recoverysteps recoveryhint nextstep nextsteps advice guidance agentguidance tip
        instructions workaround solution remedy correctiveaction""",
    "docs": "docsurl documentationurl helpurl moreinfo helplink docurl docs documentation infourl errordocs learnmore",
    "id": """requestid correlationid traceid incidentid supportid logid xrequestid errorreference referenceid
        errorinstance instance traceparent requestlogid cfray xcorrelationid activityid eventid""",
    "field": """field param parameter path loc pointer target fieldname property attribute argument argumentname
        parametername paramname invalidfield fieldpath jsonpath instancepath datapath propertyname propertypath argname
        inputfield key""",
    "status": """status statuscode httpstatus httpstatuscode httpcode responsecode httpresponsecode responsestatus
        httperrorcode upstreamstatus upstreamstatuscode cod""",
    "flag": "success ok iserror successful issuccess succeeded haserror haserrors failed timestamp version apiversion",
    "headers": "headers responseheaders",
}

_ROLE_OF = {name: role for role, names in ROLES.items() for name in names.split()}
_SQUASHED = lazy_pattern(r"[\s_.@$-]+")
_DELAY_KEY = lazy_pattern(
    r"(?:x|anthropic|suggested|recommended|min|minimum|server)*"
    r"(?P<what>retry(?:after|in|delay|at|notbefore|wait|interval|afterdelay)|backoff(?:delay|time)?|wait(?:time|for|period)?"
    r"|cooldown(?:period)?|(?:(?:rate)?limit)?(?:requests|tokens)?resets?(?:requests|tokens|at|in|after|time|timestamp)?"
    r"|tryagain(?:in|after|at)|available(?:in|at|again)|next(?:retry|attempt|try)(?:at|in|time)?|delay|blockeduntil|until)"
    r"(?P<unit>ms|millis|milliseconds|s|sec|secs|seconds|mins?|minutes|hours|epoch|date|utc)?"
)


def listed(names: str) -> frozenset[str]:
    """Return the names in a text."""
    return frozenset(names.split())


def squashed(key: str) -> str:
    """Return a key as the table names it: in lower case, and without what stands between its words."""
    return _squashed(key) if len(key) <= _LONGEST else ""


@lru_cache(maxsize=4096)
def _squashed(key: str) -> str:
    return _SQUASHED.sub("", key).lower()


def role_of(name: str) -> str | None:
    """Return what a squashed key is about, or None if nobody knows."""
    return _ROLE_OF.get(name) or ("code" if name.endswith("errorcode") else None)


@lru_cache(maxsize=1024)
def delay_key(name: str) -> str | None:
    """Return the unit that a squashed key names for its delay, or "" for none; None if it is about no delay."""
    match = _DELAY_KEY.fullmatch(name)
    return (match["unit"] or "") if match else None


def states_retry(key: str) -> bool:
    """Return whether a key says if, or when, a call may be made again."""
    name = squashed(key)
    return role_of(name) in ("retry", "final") or delay_key(name) is not None
