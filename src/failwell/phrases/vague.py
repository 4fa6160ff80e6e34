"""Wordings that name no cause: tried last, and trusted least."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="could not connect",
        code="CONNECTION_FAILED",
        evidence="Clients of services and databases that name no cause.",
        phrases="""
            (could not|cannot|can not|unable to) (connect|connecting|reach|establish|contact) (to|with|a|the)?
            (failed to|failure to|error) (connect|connecting|reach|establish|contact) (to|with|a|the)?
            connect (error|failed|failure|attempt failed|problem)
            connection attempt failed
            connection to ~ failed
            not reachable
            unreachable
        """,
        confidence=0.8,
        retryable=None,
    ),
    Rule(
        name="connection trouble",
        code="CONNECTION_FAILED",
        evidence="Clients of services and databases that do not say whether they had a connection.",
        phrases="""
            connection (error|failed|failure|problem)
            no response (from|received)
            did not (respond|answer|reply)
            (stream|response|transfer) ended (unexpectedly|early|prematurely)
            disconnected
        """,
        confidence=0.8,
        retryable=None,
        outcome="unknown",
    ),
    Rule(
        name="could not be fetched",
        code="UPSTREAM_ERROR",
        evidence="Clients of services that name no cause.",
        phrases="""
            (could not|cannot|can not|unable to|failed to|error) (fetch|fetching|download)
            (could not|cannot|can not|unable to|failed to|error) (downloading|retrieve|retrieving)
            (fetch|download|request) (failed|error)
        """,
        confidence=0.72,
        retryable=None,
    ),
    Rule(
        name="took too long",
        code="TIMEOUT",
        evidence="Programs, browsers and commands that ran out of time; the same call may take as long again.",
        phrases="""
            timed out
            timeout
            time out
            took too long
            time limit (exceeded)?
            waiting for ~ (failed|exceeded|expired)
            not (acknowledged|confirmed|answered) ~ within
            no (acknowledgement|acknowledgment|ack|confirmation|answer) (from|within|received|was received)
            (execution|runtime|run time|wall clock|cpu|processing) (time)? limit
            exceeded ~ deadline
        """,
        confidence=0.85,
        retryable=None,
    ),
    Rule(
        name="service failed",
        code="UPSTREAM_ERROR",
        evidence="HTTP 500 in words.",
        phrases="""
            internal server error
            server error
            internal service error
        """,
        confidence=0.8,
        retryable=None,
    ),
    Rule(
        name="program failed",
        code="PROCESS_FAILED",
        evidence="Shells and process libraries.",
        phrases="""
            exit (code|status)
            exited with
            non zero exit
            command failed
            returned non zero
            called process error
            signal (sigkill|sigterm|sigsegv|sigabrt)
            (process|command|program|worker|job|script|kernel) (was|has been|got)? (killed|crashed|aborted)
            (engine|worker|process|program|extension|kernel|plugin|renderer|browser|interpreter) (has|have)? crashed
            crashed
        """,
        confidence=0.75,
        retryable=None,
    ),
    Rule(
        name="server misconfigured",
        code="CONFIG_ERROR",
        evidence="Servers that miss a setting of their own.",
        phrases="""
            not (properly|correctly)? configured
            misconfigured
            (configuration|config|settings) (error|exception|missing|invalid|is)
            environment variable
            (is|are) not enabled
            (configuration|config|settings) ~ (invalid|missing)
            no ~ (specified|defined|given) in ~ (json|yaml|yml|toml|ini|env|config|configuration)
        """,
        confidence=0.8,
    ),
    Rule(
        name="deprecated",
        code="DEPRECATED",
        evidence="Services that name what replaces an operation or a model.",
        phrases="(is|are|was|were|has been|have been) (deprecated|discontinued|retired|sunset|decommissioned)",
        confidence=0.75,
    ),
    Rule(
        name="something refused",
        code="FORBIDDEN",
        evidence="Programs that refuse something and give no reason.",
        phrases="""
            denied
            blocked
            prohibited
            banned
            (contact|consult|ask) (with)? (your|the|an) (system|site|network|workspace)? (administrator|admin)
        """,
        confidence=0.75,
        blames=False,
    ),
    Rule(
        name="something unavailable",
        code="NOT_FOUND",
        evidence="Pages, videos and items that are not to be had; that it will change, nobody says.",
        phrases="unavailable",
        confidence=0.75,
    ),
    Rule(
        name="too late or too early",
        code="PRECONDITION_FAILED",
        evidence="Programs with a state that say no more than that it has changed.",
        phrases="already, no longer, in progress, not yet, is full, (is|are|was|were|has|have) not ~ yet",
        confidence=0.72,
    ),
    Rule(
        name="other than expected",
        code="INVALID_ARGUMENT",
        evidence="Checks that name what they expected.",
        phrases="expected, mismatch, mismatched",
        confidence=0.72,
    ),
    Rule(
        name="connection spoken of",
        code="CONNECTION_FAILED",
        evidence="Texts that blame a connection or the network and say no more.",
        phrases="connection, network, connectivity",
        confidence=0.7,
        retryable=None,
        outcome="unknown",
    ),
    Rule(
        name="something is required",
        code="MISSING_REQUIRED_FIELD",
        evidence="Checks that name what they need and no more.",
        phrases="required",
        confidence=0.75,
    ),
    Rule(
        name="something conflicts",
        code="CONFLICT",
        evidence="HTTP 409 in words, names and times that collide.",
        phrases="conflict, or conflicts",
        confidence=0.75,
    ),
    Rule(
        name="value or type refused",
        code="INVALID_ARGUMENT",
        evidence="Exceptions of Python and .NET named for a wrong value, which say nothing else.",
        phrases="""
            value error
            type error
            argument exception
        """,
        confidence=0.7,
    ),
    Rule(
        name="another try asked for",
        code="UPSTREAM_ERROR",
        evidence="Texts that ask for another try and do not say why: with the same input, or with another.",
        phrases="please (try again|retry)",
        confidence=0.7,
        retryable=None,
    ),
    Rule(
        name="nothing but a refusal",
        code="FORBIDDEN",
        evidence="Programs that refuse something in two words.",
        phrases="read only",
        confidence=0.75,
        blames=False,
    ),
    Rule(
        name="internal error",
        code="INTERNAL_ERROR",
        evidence="Programs that say no more than that they broke.",
        phrases="""
            internal (error|failure)
            (unexpected|unknown) (server|system)? (error|exception|failure|problem)
            failed to (initialize|initialise|start up)
            unhandled (exception|error|rejection)
            an error occurred
            something (went wrong|broke)
            should (not|never) happen
            invariant (violation|violated|failed)
            null pointer
            segfault
            (ssl|tls) error
            cannot import
            produced no (output|result)
            (had|encountered|ran into|hit) (an|a|some)? (unexpected|internal)? (error|problem|exception)
        """,
        confidence=0.75,
        retryable=None,
    ),
)
