"""Wordings of hand-written checks and parsers for invalid input."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="field cannot be set",
        code="INVALID_ARGUMENT",
        evidence="Trackers, databases and APIs whose records have fields that a caller may not set, or not there.",
        phrases="""
            (field|fields|property|attribute|column) ~ (cannot|can not) be (set|changed|edited|modified|updated|used)
            not on the appropriate screen
            (is|are) not (indexed|sortable|filterable|searchable|queryable)
            (is|are) not (writable|writeable|nullable|settable|sortable)
        """,
        confidence=0.85,
    ),
    Rule(
        name="input not understood",
        code="PARSE_ERROR",
        evidence="Date, number, document and expression parsers of all languages.",
        phrases="""
            unexpected token
            unexpected end of (json|input|data|file)
            unexpected eof
            unexpected (character|symbol|identifier|operator|end|non whitespace)
            expecting value
            expecting property name
            expected property name
            expecting ~ delimiter
            extra data
            no closing quotation
            cannot identify image
            (invalid|malformed|bad|broken) (json|yaml|xml|toml|csv|html|base64|regex)
            (invalid|malformed|bad|broken) (regular expression|cron|sql|syntax|markdown|syntax|expression|pdf)
            is not valid (json|yaml|xml|base64)
            not a valid (json|yaml|xml|zip|pdf|image)
            (json|yaml|xml|toml|csv|date) ~ (parse|parsing|decode|decoding|syntax) (error|failed|failure)
            (time|expression|query|input|number) ~ (parse|parsing|decode|decoding|syntax) (error|failed|failure)
            (failed|unable|could not|cannot|error|fail) (to)? (parse|parsing|decode|decoding|deserialize|unmarshal)
            (could not|cannot|unable to|failed to) (convert|cast|coerce)
            invalid literal
            invalid syntax
            syntax error
            unterminated
            unbalanced
            unclosed
            unmatched
            could not be (parsed|decoded|converted)
            cannot unmarshal
            codec can not decode
            invalid utf 8
            invalid (date|datetime|time|timestamp|timezone|time zone|iso) (format|string|value)?
            (date|time) ~ does not match format
            not a zip file
            parse error
            (is|are|appears|seems|file) (to be)? (corrupt|corrupted|damaged|truncated)
        """,
        unless="(database|index|cache|disk|filesystem|lock) ~ (corrupt|corrupted|damaged)",
        confidence=0.85,
    ),
    Rule(
        name="argument missing",
        code="MISSING_REQUIRED_FIELD",
        evidence="Hand-written checks of servers in any language.",
        phrases="""
            missing (the|a|an|any)? (1|2|3)? (required|mandatory|positional)? (positional)? (argument|arguments)
            missing (the|a|an|any)? (1|2|3)? (required|mandatory|positional)? (positional)? (parameter|parameters)
            missing (the|a|an|any)? (1|2|3)? (required|mandatory|positional)? (positional)? (field|fields)
            missing (the|a|an|any)? (1|2|3)? (required|mandatory|positional)? (positional)? (property|properties)
            missing (the|a|an|any)? (1|2|3)? (required|mandatory)? (positional)? (param|params|input|value)
            missing (the|a|an|any)? (1|2|3)? (positional)? (positional)? (param|params|input|value)
            missing (the|a|an|any)? (1|2|3)? (required|mandatory|positional)? (positional)? (key|option|keyword)
            missing (one of)? (the)? required
            required (argument|arguments|parameter|parameters|field|fields)
            required (property|properties|input|value|param|params)
            (is|are) (a)? required
            (is|are) mandatory
            (must|should) be (provided|specified|given|supplied|set|present|included)
            (must|should) (provide|specify|include|supply|contain|pass)
            (must|should|need to) have
            (either|one of|at least one) ~ (must|required|needed|is required)
            no ~ (provided|specified|given|supplied|passed|received)
            (was|were|is|are) not (provided|specified|given|supplied|passed|present)
            not (provided|specified|supplied)
            (not|cannot|must not|can not|should not|may not) be (empty|blank|null|none|undefined|nil)
            (parameter|argument|field|value|option) (is)? (required|missing)
            (need|needs) (a|an|at least|either|one)
            specify (a|an|the|at least|one|either)
            empty (string|query|input|value|name|content|list|array|path|message|text)
            requires (a|an|the|at least|one|either|both|exactly)
            please (provide|specify|supply|enter|pass)
        """,
        unless="""
            no ~ found
            (specified|provided|given|requested|supplied) ~ (does not exist|not found|not exist|was deleted)
            no such
            no ~ (specified|defined|given) in ~ (json|yaml|yml|toml|ini|env|config|configuration)
            requires ~ (scope|scopes|permission|permissions|role|privileges|plan|subscription|license|licence)
            (environment variable|environment variables|env var|env vars)
            (is|are) required by
            requires (a|an) ~ (check|checks|approval|review|verification|confirmation|restart|reboot|upgrade)
        """,
        confidence=0.85,
    ),
    Rule(
        name="something is missing",
        code="MISSING_REQUIRED_FIELD",
        evidence="Hand-written checks; where the arguments are known and none of them is meant, nothing is claimed.",
        phrases="""
            (is|are|was) (empty|blank|missing)
            missing
        """,
        unless="""
            no ~ found
            (specified|provided|given|requested|supplied) ~ (does not exist|not found|not exist|was deleted)
            no such
            (configuration|config|settings|environment variable|environment variables|env var|env vars)
            missing (from|in) (the|this|that|your|its)
        """,
        confidence=0.75,
    ),
    Rule(
        name="value out of range",
        code="OUT_OF_RANGE",
        evidence="Range checks in any language.",
        phrases="""
            out of (range|bounds)
            must be (between|at least|at most|greater|less|positive|non negative|larger|smaller)
            must be (in range|within|in the range|no more|no less|below|above|under|over)
            must not (exceed|be greater|be less|be more|be negative)
            (cannot|can not|may not) (exceed|be negative|be greater|be less|be zero)
            (less|greater|more|fewer|larger|smaller) than (the)? (minimum|maximum|allowed|or equal|limit)
            exceeds (the)? (maximum|limit|max|allowed|size)
            exceeded (the)? (maximum|max)
            exceeds (the)? ~ limit
            (longer|shorter|larger|smaller|older) than ~ (characters|minutes|seconds|hours|bytes|mb|kb|gb|pixels|days)
            (max|maximum|at most) ~ (items|characters|entries|rows|files|tags|words|pages|elements)
            (end|finish|stop|until|to) (date|time)? before (start|begin|from)
            too (long|short|large|small|big|high|low|many|few|deep|old)
            (dimensions|size|length|width|height|amount|count|number|total|value|duration) ~ (exceed|exceeds)
            (amount|transaction|transfer|withdrawal|order|payment|size|length|item) limit ~ exceeded
            limit exceeded ~ at most
            exceeds ~ (characters|bytes|tokens|words|mb|kb|length|elements|entries|pages)
            maximum (context|content|input|message|prompt)? length
            in the (past|future)
            math (domain|range) error
            (maximum|minimum) (is|allowed|length|size|value)
            beyond (the)? end
            invalid (index|range|offset|page|line|position|row|column|cell)
            (line|index|row|page|offset|position|column) ~ (exceeds|beyond|out of)
            outside (of)? (the|its)? ~ (range|interval|bounds|limits)
            (is|are|was) (greater|less|larger|smaller|higher|lower|longer|shorter|bigger) than
            (needs|need|requires|takes|accepts|supports|allows) (between|at most|up to|no more than|a maximum of)
            (requested|given|asked for|selected) but ~ (has|have|contains|there are)
            (cannot|can not|may not|must not) ~ (more|fewer|less) than
            no (more|fewer|less) than
            (at most|maximum of|minimum of) ~ (allowed|permitted|supported|possible)
            (is|are) limited to
            not between
            (element|item|size|length|row|file|character) limit (of)? ~ (exceeded|reached)
            (page|token|depth|field|node|point|key) limit (of)? ~ (exceeded|reached)
            (is|are) the (maximum|minimum|limit)
            (may|can) (have|list|hold|contain|include|be|take) at most
        """,
        unless="""
            (try|retry) again (later|in|after|shortly|soon)
            took too long
            (failed)? (login|logins|attempts)
            (retries|attempts|tries) ~ (exceeded|reached|exhausted)
            (exceeded|reached|exhausted) ~ (retries|attempts|tries)
        """,
        confidence=0.85,
    ),
)
