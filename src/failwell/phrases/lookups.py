"""Wordings for something that does not exist, or not at the moment."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
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
            no (matching|match|matches|entry|entries|record) ~ (found|exists|available|match|matched)
            no (matching|match|matches|entry|entries|record) ~ (matches|with|for|named)
            no (records|results|result|item|items) ~ (found|exists|available|match|matched|matches|with|for|named)
            no (object|element|elements|rows|row) ~ (found|exists|available|match|matched|matches|with|for|named)
            no (data|user|users|page|pages) ~ (found|exists|available|match|matched|matches|with|for|named)
            no (issue|project|note|notes|task) ~ (found|exists|available|match|matched|matches|with|for|named)
            no (tasks|node|nodes|entity|entities) ~ (found|exists|available|match|matched|matches|with|for|named)
            no (key|value|document|documents|channel) ~ (found|exists|available|match|matched)
            no (key|value|document|documents|channel) ~ (matches|with|for|named)
            no (message|event|events|session|package) ~ (found|exists|available|match|matched)
            no (message|event|events|session|package) ~ (matches|with|for|named)
            no (version|release|branch|commit|tag) ~ (found|exists|available|match|matched|matches|with|for|named)
            no (container|image|pod|resource|resources) ~ (found|exists|available|match|matched)
            no (container|image|pod|resource|resources) ~ (matches|with|for|named)
            no (article|articles|paper|papers|book) ~ (found|exists|available|match|matched|matches|with|for|named)
            no (team|repo|repository|transcript|transcripts) ~ (found|exists|available|match|matched)
            no (team|repo|repository|transcript|transcripts) ~ (matches|with|for|named)
            no (captions|subtitles|model|template|category) ~ (found|exists|available|match|matched)
            no (captions|subtitles|model|template|category) ~ (matches|with|for|named)
            no (section|heading|sheet|worksheet|table) ~ (found|exists|available|match|matched)
            no (section|heading|sheet|worksheet|table) ~ (matches|with|for|named)
            no (tables|column|handler|prompt|memory) ~ (found|exists|available|match|matched|matches|with|for|named)
            no (memories|window|tab|screenshot|exact match) ~ (found|exists|available|match|matched)
            no (memories|window|tab|screenshot|exact match) ~ (matches|with|for|named)
            no ~ found
            no results
            zero results
            no (matching|matches)
            no ~ (named|called) ~
            no ~ at (that|this|the given) (path|location|position|index|address|url)
            there (is|are) no ~ (with|named|called|matching|for|at)
            could not resolve to
            (has|have) no
            (did|does|could|cannot|can) not resolve
            not a (property|field|column) (that|of)
            column ~ not in
            no ~ (with|by) (the|this|that)? (id|idx|index|name|key|number|identifier|title|slug)
            no ~ (with|by|under) (the|this|that)? (alias|handle|email|username|code|hash|uuid|uri|url|path|tag|label)
            (text|content|data|details|information|documentation|source|transcript|preview) not available
            not available (for|at|from) (item|this|that|the|id|document|resource|video|date|symbol)
            (has|have|with) no (data|content|entries|results)
            no (user|space|member|account|customer|order|ticket|board|list|folder|label|group) (named|called)
            (is|was|were) not (found|available|present|recognized|recognised|known)
            (is|was|were) not (defined|in the|listed|on the|part of)
            (is|was|are|were) not (associated|linked|assigned|attached|subscribed) (with|to)
            no (user|account|member|customer|person|channel|chat|group|item|record|entity) has
            nonexistent
            non existent
            unknown (issue|task|note|ticket|order|item|document|file)
            unknown (folder|product|customer|account|event|message|object)
            unknown (user|resource|entity|id|project|repository|key|node|host|page|model|channel|city)
            unknown (location|ticker|currency|airport|station|package)
            unknown (mailbox|recipient|device|cluster|topic|queue|bucket|namespace|alias|team|board|label|player)
            (user|mailbox|recipient|host|device) (is)? unknown
            unknown (city|country|place)
            doesn exist
            (has been|was) (deleted|removed)
            gone
            (did not|does not|do not) match (any|anything)
            (did not|does not|do not) contain
            (did not|does not|do not) have (any|a|an|such)
            nothing (matched|matches|found|was found)
            (cannot|can not|could not) be (found|located)
            (does|do|did) not (appear|seem) to exist
            no (trace|record|sign) of
            (is|was) (absent|delisted)
            (does|do|did) not (correspond|point|refer|lead) to (any|a|an)
            (was|were|is|are) not there
            not a known
            no ~ under (that|this|the|your)
            unrecogni* (ticker|symbol|city|country|place|location|user|name|id)
            (record|item|user|id|entry|key|document|object|order) ~ is unknown
            (manifest|name|blob|tag|repository) unknown
            unable to resolve reference
            no match
            (matched|matches) (no|none|nothing)
            not (present)? in (scene|graph|index|list|catalog|schema|workspace|project|registry|cache|database)
            not present in
            unknown database
            no rule to make
            (is|are) in the (trash|recycle bin|bin)
            link is (dead|broken)
            missing file
            no ~ (could|can) be (computed|found|determined|calculated|located|resolved|retrieved)
            missing (from|in) (the|this|that|your|its)
            (has|have) been (purged|erased|trashed|wiped|unpublished)
            (ticker|symbol|city|country|station|airport|route|host|device|product|sku|address) ~ is unknown
            (is|are|was) not (registered|enrolled|tracked|monitored|deployed)
            (contains|contain|holds) no
            (moved|sent) (in|to|into) (the)? (trash|recycle bin|bin)
            not defined (for|in|on|by)
            (matched|matches|returned) (0|zero)
            (symbol|ticker|product|sku|account|user|page|file|record|item) (delisted|deleted|removed|purged)
        """,
        unless="""
            no match* (for|of) (type|signature|overload)
            not defined in ~ (json|yaml|yml|toml|ini|env|config|configuration|settings)
        """,
        confidence=0.85,
    ),
    Rule(
        name="try again later",
        code="SERVICE_UNAVAILABLE",
        evidence="Programs that ask for another try.",
        phrases="""
            (try|retry) again (later|shortly|soon|in)
            (service|server|api|upstream|backend|system|site|endpoint|database|cluster|provider) ~ unavailable
            (try|retry) (later|shortly|again later)
            (try|retry) (operation|request|it|this|the operation|the request|your request) later
            come back (later|soon|in)
            (service|server|api|site|backend|upstream|cluster|database) (is)? down
            (was|were|been|is|are) (preempted|evicted)
            still (starting|booting|initializing)
            leader election
            (wait|pause) (for)? ~ (second|seconds|minute|minutes) (before|and|then|to)?
            (runner|agent|worker|device|printer|camera|player) (is)? (offline|disconnected)
            (replication|replica|consumer) (lag|is lagging)
            (please|you can|you may) retry (in|after|at)
            retry (in|after) ~ (second|seconds|minute|minutes|hour|hours)
            retry (your|the) request
            temporary (failure|error|problem|issue)
            transient (error|failure|problem|issue)
            (device|server|service|host|node|database|printer|camera) ~ is offline
            (device|server|service|host|node|database|printer|camera) is offline
            (feed|provider|gateway|node|replica|region|partition|shard|mirror) ~ unavailable
        """,
        confidence=0.85,
    ),
)
