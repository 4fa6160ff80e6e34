"""Wordings of SDKs and decoders for an invalid result: the call was made, and its input is rarely at fault."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="error in place of a result",
        code="INTERNAL_ERROR",
        evidence="FastMCP, when a tool returns the text of an error where it declared something else.",
        phrases="""
            structured (content|output) must ~ got ~ (error|failed|exception|refused|unable to|could not|cannot)
        """,
        confidence=0.95,
        outcome="unknown",
        retryable=None,
        blames=False,
    ),
    Rule(
        name="result against its own schema",
        code="INTERNAL_ERROR",
        evidence="MCP SDKs for Python and TypeScript and FastMCP, when a tool ran and its result is not as declared.",
        phrases="""
            output validation error
            output schema ~ (but|no structured)
            outputschema ~ (but|no structured)
            (invalid|validate|serialize|parsing|parse|match) structured (content|output)
            structured (content|output) (does not|did not|must|is not|is missing|was not|could not)
            (match|for) (the|its)? (tools|tool s)? output schema
            unexpected return (value)? type
            return value of tool
            (invalid|unexpected) return value
            invalid tools call result
        """,
        confidence=0.95,
        outcome="executed",
        retryable=None,
        blames=False,
    ),
    Rule(
        name="answer not understood",
        code="BAD_UPSTREAM_RESPONSE",
        evidence="Clients of services that cannot make sense of what they were answered.",
        phrases="""
            (parse|parsing|decode|decoding|deserialize|deserializing|unmarshal|unmarshalling) ~ (response|reply)
            (invalid|unexpected|malformed|unparsable|unparseable|bad|empty|non json|incomplete) (json)? (response|reply)
            (response|reply) (body|format|data|payload|from)? ~ (is|was) (not|invalid|malformed|empty|unparsable)
            (response|reply) (body|format|data|payload) ~ (invalid|malformed|unparsable|could not|cannot)
            (returned|sent|answered with|received) (an|a|with)? (invalid|unexpected|malformed|unparsable|empty) ~
            (body|data|json|text|content) (that was)? returned by (the|a)? (service|server|api|upstream|backend)
            (returned|sent|answered with|received) (html|non json)
            (html|text|xml) instead of json
            (response|result|output|reply) validation
            (response|reply|answer|output) (does|did) not (match|conform|satisfy|fit)
            (response|reply|answer) ~ (missing|lacks|lacked|without) (the|a|an|any|its)?
            no ~ returned (from|by) (the|a)? ~ (api|endpoint|server|service|backend|upstream)
            no ~ in (the)? (response|reply|answer)
            missing ~ in ~ (response|reply|answer)
            (unexpected|unsupported|invalid|wrong) content type ~ (from|returned|received|in)
            (returned|sent|answered with|received) garbage
        """,
        unless="""
            (response|reply) (status|code|time|timeout)
            status code
            unexpected response (status|code)
            no response
            empty reply from server
            (timed out|timeout|time out|connection|socket|network|deadline)
            in your (response|reply)
        """,
        confidence=0.8,
        retryable=None,
        outcome="unknown",
        blames=False,
    ),
    Rule(
        name="JSON not understood",
        code="BAD_UPSTREAM_RESPONSE",
        evidence="Decoders of JSON and XML: of what was sent, if that looks like it, else of what was answered.",
        phrases="""
            unexpected token ~ json
            unexpected token <
            unexpected end of json
            unexpected (character|non whitespace) ~ json
            json ~ unexpected (character|token)
            expecting value
            expecting property name
            expected property name
            in json at position
            expecting ~ delimiter
            extra data line
            invalid character ~ (looking for|after top level|after object|after array)
            cannot unmarshal
            json value could not be converted
            (expected|missing|unknown|invalid|trailing) ~ at line ~ column
            (json|jsondecode) (decode|parse) (error|exception)
            unexpected character (code|<)
            error decoding ~ body
            not well formed
        """,
        unless="sql, query, cypher, yaml, toml, expression, regex, regular expression",
        confidence=0.8,
        retryable=None,
        outcome="unknown",
    ),
)
