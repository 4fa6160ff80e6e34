"""Wordings about settings: values whose names sound like failures, and the server's own configuration.

A rate limit of -1 is no rate limit reached, and a broken settings file is no broken input.
"""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="server's own settings",
        code="CONFIG_ERROR",
        evidence="Servers that cannot read their settings, or miss a variable of their environment.",
        phrases="""
            failed to load (the)? (config|configuration|settings)
            (missing from|not set in|not defined in|not found in|absent from) (the|your)? (environment|env)
        """,
        unless="(environment|env) (named|with|id)",
        confidence=0.8,
        blames=False,
    ),
    Rule(
        name="value of a setting refused",
        code="INVALID_ARGUMENT",
        evidence="Hand-written checks of values such as a timeout, a rate limit, a state or a connection type.",
        phrases="""
            must be one of
            (must|should|has to) be (a|an)? (positive|negative|non negative|non zero|whole|valid|finite)
            (must|should|has to) be (a|an) (integer|int|number|string|boolean|bool|float|list|array|object|date|url)
            (must|should|has to) be (between|greater|less|larger|smaller|at least|at most|in range|within|lower|higher)
            (timeout|rate limit|quota|retries) ~ (must not|cannot) (be|contain|exceed)
            (retry count|lock|connection|session) ~ (must not|cannot) (be|contain|exceed)
            invalid (value for)? (the)? (rate limit|quota|retry|retries|timeout|lock|deadline|delay|backoff)
            invalid (value for)? (the)? (connection|request|read|response|connect) (timeout|type|mode|name|id)
            (unknown|unsupported|invalid) (connection|session|lock|network|timeout|state|status) (type|mode|name|unit)
        """,
        unless="""
            (limit|limits|quota|requests|attempts|connections) (exceeded|reached)
            too many
            throttl*
            (try|retry) (again|after|later)
            (api key|apikey|token|credential*|signature|password|authenticat*|unauthorized|logged in|signed in)
            (http|status) ~ (4*|5*)
            (path|directory|file|command|host|url|domain) ~ not (allowed|permitted)
        """,
        confidence=0.85,
    ),
)
