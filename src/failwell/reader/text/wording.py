"""How programs of any kind word a failure: rules for plain English, and the order of all the tables."""

from functools import cache

from failwell.reader.text import databases, networks, services, systems
from failwell.reader.text.phrases import Rule, Table

_FIRST: tuple[Rule, ...] = (
    Rule(
        name="unknown tool",
        code="UNKNOWN_TOOL",
        evidence="MCP SDKs and servers that look tools up by name.",
        phrases="""
            unknown tool
            tool (named|with name|called)? ~ (was)? not found
            tool not found
            no such tool
            no tool (named|called|with|found)
            unknown (function|command) name
            tool ~ (does not exist|is not available|not available|is not registered|not registered)
            method ~ not found
            unknown method
            unrecognized tool
        """,
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
            invalid reference
            repository not found
            no such ref
            could not find repository
        """,
        confidence=0.85,
    ),
    Rule(
        name="address not valid",
        code="INVALID_URL",
        evidence="URL parsers and HTTP clients.",
        phrases="""
            (invalid|malformed|bad|unsupported|unknown|missing) (or missing|or unsupported)? (url|uri|scheme|protocol|connection string|hostname|port number)
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
            conflict*  with ~ (current|existing|another)
            uncommitted changes
            cannot (delete|remove) ~ (in use|checked out|current branch)
            is not fully merged
        """,
        confidence=0.85,
    ),
)

_BROKEN: tuple[Rule, ...] = (
    Rule(
        name="bug in the tool",
        code="INTERNAL_ERROR",
        evidence="Exceptions of Python, JavaScript, Java, Go and .NET that speak of the program, not of its input.",
        phrases="""
            cannot read propert* of (undefined|null)
            cannot read property
            undefined is not (a function|an object|iterable)
            is not a function
            is not iterable
            none type object
            nonetype
            has no attribute
            object is not (subscriptable|callable|iterable)
            null pointer exception
            nullpointerexception
            object reference not set
            nil pointer dereference
            index out of bounds
            list index out of range
            stack overflow
            maximum call stack
            maximum recursion depth
            assertion (error|failed)
            runtime error invalid memory
            is not json serializable
            panicked at
            segmentation fault
            unboundlocalerror
            referenced before assignment
        """,
        confidence=0.8,
        retryable=None,
    ),
    Rule(
        name="not implemented",
        code="NOT_IMPLEMENTED",
        evidence="Stubs, gRPC UNIMPLEMENTED, HTTP 501 in words.",
        phrases="""
            not (yet)? implemented
            unimplemented
            not implemented error
        """,
        confidence=0.88,
    ),
)

_GENERAL: tuple[Rule, ...] = (
    Rule(
        name="exists already",
        code="ALREADY_EXISTS",
        evidence="Create operations of services and programs.",
        phrases="""
            already exist*
            already (been)? (taken|registered|used|added|created|defined|connected|installed|assigned)
            (is|was) already (taken|registered|used|added|created|defined|a member)
            (name|username|email|id|title|slug) ~ (taken|not unique)
            duplicate
            已存在
            既に存在
            existe déjà
            ya existe
            existiert bereits
        """,
        confidence=0.88,
    ),
    Rule(
        name="something must come first",
        code="PRECONDITION_FAILED",
        evidence="Programs with a state: connect, open or create something before this call.",
        phrases="""
            precondition (failed|required)
            not connected
            no active (connection|session|page|browser|project|database|document|workbook|window|tab|transaction)
            (no|not any) (open|current|selected|active) (page|pages|browser|session|tab|document|project|database|connection)
            (must|need|needs|have|has) to (be)? (first)? (connect|connected|initialize|initialized|open|opened|start|started|navigate|call|select)
            (must|should) (first)? (connect|initialize|navigate|be initialized|be connected|call)
            not (been)? (initialized|initialised|started|opened|connected|loaded)
            before (you can|calling|using|it can)
            (call|use|run) ~ first
            illegal state
            invalid state
            (is|are) (not)? (currently)? in (the|a)? ~ state
            while ~ is running
            (is|are) closed
            already (closed|completed|cancelled|canceled|finished|merged|resolved|running|started)
        """,
        confidence=0.8,
    ),
    Rule(
        name="more than one fits",
        code="AMBIGUOUS",
        evidence="Edits and look-ups that must be unique.",
        phrases="""
            ambiguous
            (multiple|several|more than one) (match|matches|results|occurrences|elements|files|records|objects|candidates)
            (is|are|was) not unique
            matches multiple
            strict mode violation
        """,
        confidence=0.8,
    ),
    Rule(
        name="input not understood",
        code="PARSE_ERROR",
        evidence="JSON, date, number and expression parsers of all languages.",
        phrases="""
            unexpected token
            unexpected end of (json|input|data|file)
            unexpected (character|symbol|identifier|operator|end|non whitespace)
            expecting value
            expecting property name
            expected property name
            in json at position
            expecting ~ delimiter
            extra data
            (invalid|malformed|bad|broken) (json|yaml|xml|toml|csv|html|base64|regex|regular expression|cron|sql|syntax|markdown|syntax|expression|pdf)
            is not valid (json|yaml|xml|base64)
            not a valid (json|yaml|xml|zip|pdf|image)
            (json|yaml|xml|toml|csv|date|time|expression|query|input|number) ~ (parse|parsing|decode|decoding|syntax) (error|failed|failure)
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
            解析失败
        """,
        confidence=0.85,
    ),
    Rule(
        name="argument missing",
        code="MISSING_REQUIRED_FIELD",
        evidence="Hand-written checks of servers in any language.",
        phrases="""
            missing (the|a|an|any)? (1|2|3)? (required|mandatory|positional)? (positional)? (argument|arguments|parameter|parameters|field|fields|property|properties|param|params|input|value|key|option|keyword)
            missing (one of)? (the)? required
            required (argument|arguments|parameter|parameters|field|fields|property|properties|input|value|param|params)
            (is|are) (a)? required
            (must|should) be (provided|specified|given|supplied|set|present|included)
            (must|should) (provide|specify|include|supply|contain|pass)
            (must|should|need to) have
            (either|one of|at least one) ~ (must|required|needed|is required)
            no ~ (provided|specified|given|supplied|passed|received)
            (was|were|is|are) not (provided|specified|given|supplied|passed|present)
            (not|cannot|must not|can not|should not|may not) be (empty|blank|null|none|undefined|nil)
            (is|are|was) (empty|blank|missing|undefined)
            empty (string|query|input|value|name|content|list|array|path|message|text)
            missing
            requires (a|an|the|at least|one|either|both|exactly)
            please (provide|specify|supply|enter|pass)
            缺少
            不能为空
            必填
            必須
            es obligatorio
            est requis
            fehlt
            erforderlich
        """,
        confidence=0.85,
    ),
    Rule(
        name="value out of range",
        code="OUT_OF_RANGE",
        evidence="Range checks in any language.",
        phrases="""
            out of (range|bounds)
            must be (between|at least|at most|greater|less|positive|non negative|larger|smaller|in range|within|in the range|no more|no less|below|above|under|over)
            must not (exceed|be greater|be less|be more|be negative)
            (cannot|can not|may not) (exceed|be negative|be greater|be less|be zero)
            (less|greater|more|fewer|larger|smaller) than (the)? (minimum|maximum|allowed|or equal|limit)
            exceeds (the)? (maximum|limit|max|allowed|size)
            exceeded (the)? (maximum|max)
            too (long|short|large|small|big|high|low|many|few|deep|old)
            (maximum|minimum) (is|allowed|length|size|value)
            beyond (the)? end
            invalid (index|range|offset|page|line|position|row|column|cell)
            division by zero
            divide by zero
            (line|index|row|page|offset|position|column) ~ (exceeds|beyond|out of)
        """,
        confidence=0.85,
    ),
    Rule(
        name="does not exist",
        code="NOT_FOUND",
        evidence="Look-ups of services and programs in any language.",
        phrases="""
            not found
            notfound
            (does|do|did) not exist
            not exist
            no longer (exists|available)
            (could not|cannot|can not|unable to|failed to) (find|locate)
            no such
            no (matching|match|matches|entry|entries|record|records|results|result|item|items|object|element|elements|rows|row|data|user|users|page|pages|issue|project|note|notes|task|tasks|node|nodes|entity|entities|key|value|document|documents|channel|message|event|events|session|package|version|release|branch|commit|tag|container|image|pod|resource|resources|article|articles|paper|papers|book|team|repo|repository|transcript|transcripts|captions|subtitles|model|template|category|section|heading|sheet|worksheet|table|tables|column|handler|prompt|memory|memories|window|tab|screenshot|exact match) ~ (found|exists|available|match|matched|matches|with|for|named)
            no ~ found
            (is|was|were) not (found|available|present|recognized|recognised|known|defined|in the|listed|on the|part of)
            (is|are) unavailable
            nonexistent
            non existent
            unknown (user|resource|entity|id|project|repository|key|node|host|page|model|channel|city|location|ticker|currency|airport|station|package|timezone|time zone|city|language|country|place)
            doesn exist
            (has been|was) (deleted|removed)
            gone
            (did not|does not|do not) (match|contain|have) (any)?
            不存在
            找不到
            未找到
            見つかりません
            nicht gefunden
            existiert nicht
            no encontrado
            no existe
            introuvable
            n'existe pas
            não encontrado
            не найден
            не существует
        """,
        confidence=0.85,
    ),
    Rule(
        name="try again later",
        code="SERVICE_UNAVAILABLE",
        evidence="Programs that ask for another try.",
        phrases="""
            (try|retry) again (later|shortly|soon|in)
            (try|retry) (later|shortly|again later)
            retry (your|the) request
            temporary (failure|error|problem|issue)
            transient
            unavailable
            稍后重试
            请稍后
        """,
        confidence=0.85,
    ),
    Rule(
        name="argument refused",
        code="INVALID_ARGUMENT",
        evidence="Hand-written checks of servers in any language.",
        phrases="""
            invalid
            not (a)? valid
            not one of
            must (be|match|not|start|end|only|use|contain|equal)
            should (be|match|not|start|end|contain)
            expected ~ (got|received|but|found|instead)
            expected (a|an|one of|format|string|number|integer|boolean|object|array|list)
            expects
            (illegal|incorrect|improper|inappropriate|unacceptable|wrong|bad) (argument|arguments|value|values|parameter|parameters|format|type|input|request|name|length|number|data|option|character|query|syntax|state)
            bad request
            unprocessable
            unrecognized
            unrecognised
            (unsupported|unknown|unexpected) 
            (is|are) not (supported|accepted|acceptable|allowed|legal|numeric|a number|an integer|a string|a list|an array|a valid|a supported|defined|permitted|a recognized|an allowed)
            not supported
            does not support
            cannot be (used|combined|both|specified|applied|processed|a|an)
            mutually exclusive
            (cannot|can not|do not|must not) (specify|use|set|combine|provide|pass|have|supply) (both|more than one)
            both ~ (cannot|must not|not allowed|at the same time)
            simultaneously
            not allowed
            only ~ (allowed|supported|accepted|permitted|valid)
            (valid|allowed|supported|available|accepted|possible) (values|options|choices|types|formats|actions|operations|modes|names|schemes|keys|languages|units|extensions) (are|include|is)?
            must
            validation (error|failed|failure)
            (argument|parameter|input) (error|exception)
            malformed
            choose (from|one of)
            use one of
            usage
            unexpected keyword argument
            无效
            参数错误
            不正
            ungültig
            inválido
            no válido
            invalide
            неверн
        """,
        confidence=0.82,
    ),
    Rule(
        name="could not connect",
        code="CONNECTION_FAILED",
        evidence="Clients of services and databases that name no cause.",
        phrases="""
            (could not|cannot|can not|unable to|failed to|failure to|error) (connect|connecting|reach|establish|contact) (to|with|a|the)?
            (connection|connect) (error|failed|failure|attempt failed|problem)
            connection to ~ failed
            not reachable
            unreachable
            no response (from|received)
        """,
        confidence=0.8,
        retryable=None,
    ),
    Rule(
        name="could not be fetched",
        code="UPSTREAM_ERROR",
        evidence="Clients of services that name no cause.",
        phrases="""
            (could not|cannot|can not|unable to|failed to|error) (fetch|fetching|download|downloading|retrieve|retrieving)
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
            超时
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
            configuration (error|missing|invalid|is)
            environment variable
            (is|are) not enabled
        """,
        confidence=0.8,
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
        name="internal error",
        code="INTERNAL_ERROR",
        evidence="Programs that say no more than that they broke.",
        phrases="""
            internal (error|failure)
            unexpected error
            unhandled (exception|error|rejection)
            an error occurred
            something went wrong
            内部错误
        """,
        confidence=0.75,
        retryable=None,
    ),
)

RULES: tuple[Rule, ...] = (
    *_FIRST,
    *services.RULES[:2],
    *networks.RULES,
    *systems.RULES,
    *databases.RULES,
    *services.RULES[2:],
    *_BROKEN,
    *_GENERAL,
)
"""Every rule of wording, the most telling first."""


@cache
def table() -> Table:
    """Return all the rules, indexed. Made when first needed."""
    return Table(RULES)
