"""Wordings that reject an argument without saying why."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="argument refused",
        code="INVALID_ARGUMENT",
        evidence="Hand-written checks of servers in any language.",
        phrases="""
            invalid
            not (a|an)? (valid|recognized|recognised)
            not one of
            must (be|match|not|start|end|only|use|contain|equal)
            should (be|match|not|start|end|contain)
            expected ~ (got|received|but|found|instead)
            expected (a|an|one of|format|string|number|integer|boolean|object|array|list)
            expects
            to be one of
            (may|can) only (contain|be|use|start|include|consist)
            (did|does|do) not match
            (is|are) (after|before|later than|earlier than) ~
            expected ~ one of
            could not be (processed|interpreted|understood)
            unrecogni* (operation|operator|option|argument|value|key|field|type|format|command|token)
            (cannot|can not|must not|may not) (contain|include|start|end|begin|be longer|be shorter|have|refer)
            cannot be made (of|on|for|to)
            not a (number|date|string|boolean|list|file|directory|folder|url)
            (passed|gave|set|sent|specified|provided) both
            cannot use ~ (with|without|together)
            (address|date|name|input|query|form|data|value) (is)? incomplete
            (specified|given|provided|requested|chosen) ~ (is|are) not (enabled|available|supported|usable)
            expecting ~ (but|got|found)
            (illegal|incorrect|improper|inappropriate) (argument|arguments|value|values|parameter)
            (unacceptable|wrong|bad) (argument|arguments|value|values|parameter)
            (illegal|incorrect|improper|inappropriate|unacceptable|wrong|bad) (parameters|format|type|input|request)
            (illegal|incorrect|improper|inappropriate) (name|length|number|data|option|character|query|syntax|state)
            (unacceptable|wrong|bad) (name|length|number|data|option|character|query|syntax|state)
            bad request
            unprocessable
            unrecognized
            unrecognised
            (unsupported|unknown|unexpected)
            (is|are) not (supported|accepted|acceptable|allowed|legal|numeric|a number|an integer|a string)
            (is|are) not (a list|an array|a valid|a supported|defined|permitted|a recognized|an allowed)
            not supported
            does not support
            cannot be (used|combined|both|specified|applied|processed|a|an)
            mutually exclusive
            (cannot|can not|do not|must not) (specify|use|set|combine|provide|pass|have|supply) (both|more than one)
            both ~ (cannot|must not|not allowed|at the same time)
            simultaneously
            not allowed
            only ~ (allowed|supported|accepted|permitted|valid)
            (valid|allowed|supported|available|accepted|possible) (values|options|choices|types) (are|include|is)?
            (valid|allowed|supported|available|accepted|possible) (formats|actions|operations) (are|include|is)?
            (valid|allowed|supported) (modes|names|schemes|keys|languages|units|extensions) (are|include|is)?
            (available|accepted|possible) (modes|names|schemes|keys|languages|units|extensions) (are|include|is)?
            must
            validation (error|errors|failed|failure|exception|exceptions|issue|issues|problem|problems)
            error validating
            only (supports|accepts|allows|permits|handles|takes|understands)
            (received|got|given) ~ but ~ (only|expects|expected|needs|requires|takes|wanted)
            is not (a|an) ~ (file|document|image|video|spreadsheet|folder|archive|number|url|link|address|date|color)
            (argument|parameter|input) (error|exception)
            malformed
            choose (from|one of)
            use one of
            usage
            unexpected keyword argument
            (are|is) (identical|the same)
            be (the same|identical|equal)
            must (differ|be different|be distinct)
            contains (special|invalid|illegal|forbidden|unsupported|disallowed|unsafe|control) (characters|character)
            contains (whitespace|spaces|blanks)
            (same|identical) (as|to) the (original|old|current|existing|source)
            (is|are|was) (incorrect|improper|illegal)
            (element|node|object|target|item) (is|was) not (a|an)
            cannot be (shown|displayed|rendered|previewed|split|embedded|converted) (as|in|to|with|into)
            (fails|failed) the ~ (check|checksum|validation|test)
            (digit|value|format|checksum|syntax|type|length|number) (is)? wrong
        """,
        unless="""
            (unexpected|unknown) (server|internal|system|upstream)? (error|exception|failure|problem|issue)
            should (not|never) happen
            invariant (violation|violated|failed)
        """,
        confidence=0.82,
    ),
)
