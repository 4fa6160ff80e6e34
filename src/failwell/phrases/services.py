"""Wordings of web services and their SDKs: missing sign-ins, refusals and outages."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="declined by a person",
        code="USER_DECLINED",
        evidence="Hosts and servers that ask the user before they act.",
        phrases="""
            (user|human|operator|reviewer|approver|human reviewer) (has)? (declined|rejected|denied|refused)
            (declined|rejected|denied|refused) by (the|a)? (user|human|operator)
            (elicitation|confirmation|approval|consent) ~ (declined|rejected|denied|refused)
            (user|human|operator) did not (approve|confirm|consent|accept|agree|grant|allow)
            (user|human|operator) said no
            not granted by (the|a)? (user|human|operator)
            without (user|human)? (approval|confirmation|consent)
        """,
        unless="denied (for|to) user",
        confidence=0.88,
        blames=False,
    ),
    Rule(
        name="cancelled by a person",
        code="USER_CANCELLED",
        evidence="Hosts and servers whose user closed the question without an answer.",
        phrases="""
            (user|human|operator) (has)? (cancelled|canceled|aborted|dismissed)
            (cancelled|canceled|aborted|dismissed) by (the|a)? (user|human|operator)
            (elicitation|confirmation|approval|consent) ~ (cancelled|canceled)
        """,
        confidence=0.88,
        blames=False,
    ),
    Rule(
        name="key not configured",
        code="UNAUTHORIZED",
        evidence="Servers started without the key or token of the service behind them.",
        phrases="""
            (api key|apikey|api token|access token|auth token) ~ (environment variable|env var|env variable)
            (token|credentials|client secret|client id|secret) ~ (environment variable|env var|env variable)
            (environment variable|env var) ~ (key|token|secret|password) ~ (required|not set|missing)
            (environment variable|env var) ~ (credentials|pat|auth) ~ (required|not set|missing)
            (environment variable|env var) ~ (key|token|secret|password) ~ (is not set|must be set)
            (environment variable|env var) ~ (credentials|pat|auth) ~ (is not set|must be set)
            (api key|apikey|api token|access token) (is|are|was|were)? (not|missing|required|invalid)
            (api key|apikey|api token|access token) (is|are|was|were)? (incorrect|expired|undefined|empty)
            (auth token|credentials|secret key|client secret) (is|are|was|were)? (not|missing|required|invalid)
            (auth token|credentials|secret key|client secret) (is|are|was|were)? (incorrect|expired|undefined|empty)
            (missing|no|invalid|incorrect) (or invalid|valid|your|the|an|a)? (api key|apikey|api keys|api token)
            (bad|wrong|expired|without) (or invalid|valid|your|the|an|a)? (api key|apikey|api keys|api token)
            (missing|no|invalid|incorrect) (or invalid|valid|your|the|an|a)? (access token|auth token|bearer token)
            (bad|wrong|expired|without) (or invalid|valid|your|the|an|a)? (access token|auth token|bearer token)
            (missing|no|invalid|incorrect) (or invalid|valid|your|the|an|a)? (oauth token|credentials)
            (missing|no|invalid|incorrect) (or invalid|valid|your|the|an|a)? (credential|authentication)
            (bad|wrong|expired|without) (or invalid|valid|your|the|an|a)? (oauth token|credentials)
            (bad|wrong|expired|without) (or invalid|valid|your|the|an|a)? (credential|authentication)
            (missing|no|invalid|incorrect) (or invalid|valid|your|the|an|a)? (authorization header|authorization)
            (missing|no|invalid|incorrect) (or invalid|valid|your|the|an|a)? auth
            (bad|wrong|expired|without) (or invalid|valid|your|the|an|a)? (authorization header|authorization|auth)
            (set|provide|configure|supply) (the|a|an|your|valid)? (api key|apikey|api token)
            (need|needs|requires|require) (the|a|an|your|valid)? (api key|apikey|api token)
            (set|provide|configure|supply) (the|a|an|your|valid)? (access token|auth token|credentials)
            (need|needs|requires|require) (the|a|an|your|valid)? (access token|auth token|credentials)
            unable to locate credentials
            could not load ~ credentials
            default credentials
            credentials not found
            no credentials
            not configured ~ (api key|token|credentials|oauth)
            (missing|invalid|incorrect|wrong|expired) (user|app|application|service|license|subscription|account) key
            (check|verify|set|export) (your|the)? ~ (api key|bot token|access token|api token|auth token|secret key)
        """,
        confidence=0.88,
        blames=False,
    ),
    Rule(
        name="not signed in",
        code="UNAUTHORIZED",
        evidence="HTTP 401 in words, OAuth errors, database logins, git hosts.",
        phrases="""
            unauthorized
            unauthorised
            unauthenticated
            not authenticated
            not logged in
            not signed in
            authentication (is)? (required|failed|failure|error|needed|credentials)
            authentication ~ (failed|required|denied)
            auth (failed|failure|required|error)
            (login|log in|sign in|signin) (is)? (required|failed)
            (please|must|need to) (log in|login|sign in|authenticate|reauthenticate)
            (must|need to|have to|should) (first)? be (logged in|signed in|authenticated|logged on)
            bad credentials
            invalid (credential|credentials|login|password|username|user name|auth|session)
            (password|username) (is)? (incorrect|invalid|wrong)
            (incorrect|wrong|bad) (password|username|user name|passphrase|passcode|pin)
            (two factor|2fa|mfa|multi factor|second factor|otp|one time) ~ (required|needed|enabled)
            password authentication failed
            access denied for user
            (token|session|credentials|jwt|signature) (has|is|was)? (been)? (expired|revoked|invalid)
            expired (token|session|credentials|security token)
            (invalid|malformed|bad|missing|revoked) (access|auth|bearer|refresh|api|id|security)? (token|jwt)
            invalid (grant|client|signature|x api key)
            (authorization|authorisation|consent|grant|access) (has been|was|is) (revoked|withdrawn)
            (sign|log) in again
            (key|token|certificate|credential|session) (has been|was|is) (revoked|withdrawn|invalidated)
            access key id ~ does not exist
            (sign|log) back in
            (reauthorize|reauthorise|reauthenticate)
            re (authorize|authorise|authenticate)
            (oauth|oauth2|authorization|authentication|consent|login) (flow|process|handshake|callback) ~ fail*
            (oauth|oauth2|authorization|authentication|consent|login) (flow|process|handshake|callback) ~ cancel*
            (oauth|oauth2|authorization|authentication|consent|login) (flow|process|handshake|callback) ~ abort*
            no (valid|stored|saved|cached)? (refresh|session|bearer|user|bot) token
            (refresh|bearer|bot|session) token ~ (missing|not set|not found|not available|unavailable)
            no auth
            not authed
            login failed
            requires authentication
            (unable to|failed to|could not|cannot) authenticate
            (authorization|authorisation|login|credentials|api key|token) (is|are)? (required|needed|necessary)
            security token ~ (invalid|expired)
            api key
            api keys
            access token
            (username|password|login|credentials) ~ not accepted
            sign in (to|if|first|with)
            could not read username
            terminal prompts disabled
            permission denied publickey
            host key verification failed
            signature does not match
        """,
        confidence=0.9,
        blames=False,
    ),
    Rule(
        name="payment required",
        code="PAYMENT_REQUIRED",
        evidence="HTTP 402 in words, paid features.",
        phrases="""
            payment required
            requires a (paid|pro|premium|enterprise) (plan|subscription|account)
            (subscription|premium|license|licence|upgrade) (is)? (required|expired)
            not available (on|in|with|for|under) your (current)? (plan|tier|subscription|account)
            no active (subscription|plan|license|licence)
            not available on your (current)? plan
            only (available|included|supported|offered) (on|in|with|for|to|as part of) ~ (plan|plans|tier)
            only (available|included|supported|offered) (on|in|with|for|to|as part of) ~ (tiers|subscription|edition)
            only (available|included|supported|offered) (on|in|with|for|to) ~ (subscribers|subscriptions|premium)
            only (available|included|supported|offered) (on|in|with|for|to) ~ (pro|enterprise|paid)
            (feature|function|endpoint|option) (of|for|in) (the|a)? (paid|premium|pro|enterprise|business)
        """,
        blames=False,
    ),
    Rule(
        name="payment declined",
        code="PAYMENT_DECLINED",
        evidence="Banks and payment services.",
        phrases="""
            (card|payment|transaction|charge) (was|has been|is)? declined
            (bank|issuer) ~ (declined|refused|rejected) (this|the|your) (charge|payment|card|transaction)
            (processor|acquirer|network) ~ (declined|refused|rejected) (this|the|your) (charge|payment|card|transaction)
            (instrument|mandate|debit|purchase|authorization|authorisation) (was|has been|is)? declined
            declined by (the|your)? (issuer|bank|issuing bank|card issuer|processor)
        """,
        confidence=0.88,
        blames=False,
    ),
    Rule(
        name="method not allowed",
        code="METHOD_NOT_ALLOWED",
        evidence="HTTP 405 in words.",
        phrases="""
            (http|request|get|post|put|patch|delete)? method ~ (is)? not (allowed|supported) (for|on|at|here)?
            method not allowed
            (get|post|put|patch|delete) (is)? not (allowed|supported) (for|on|at|here)
        """,
        unless="(by|outside|access|permission|payment|shipping|delivery|authentication) ~ method",
        confidence=0.8,
    ),
    Rule(
        name="outside what is allowed",
        code="FORBIDDEN",
        evidence="Servers that confine paths, hosts, commands or statements to an allowed set.",
        phrases="""
            outside (of)? (the)? (allowed|permitted|configured|project|workspace|working)
            outside (of)? (the)? (root|base|sandbox|repository|vault|data)
            outside ~ (directories|directory|root|roots|workspace|sandbox|folder|repository)
            not (in|within|inside|under|on) (the|an|any)? (allowed|permitted|approved|whitelisted)
            not (in|within|inside|under|on) (the|an|any)? (list of allowed|allow list|allowlist|whitelist)
            (path|directory) traversal
            escapes (the)? (root|base|workspace|sandbox|repository|allowed)
            not whitelisted
            not in (the)? (allowlist|whitelist|allow list)
            blocked by (policy|robots|the)
            (rejected|refused|declined|denied|disallowed|prevented) ~ by ~ (policy|policies)
            robots ~ (not allowed|disallow|disallows|disallowed|specifies|forbids|blocked|prohibits)
            (not allowed|disallowed|forbidden|prohibited|blocked) ~ robots
            (can|may) only (read|write|run|access|use|open|list|edit|delete|execute) ~ (in|within|inside|under|from)
            disallowed by
            ssrf
            (private|internal|local) (or)? (internal|private|reserved)? (address|addresses|network|networks)
            (loopback|link local) (or)? (internal|private|reserved)? (address|addresses|network|networks)
            (private|internal|local|loopback|link local) (or)? (internal|private|reserved)? (ip|host|hosts|ips)
            (is|are|was) (blocked|prohibited|blacklisted|disallowed|restricted)
            blocked (command|url|domain|host|path|operation|request|pattern|extension)
            (command|url|domain|host|path|operation|request) blocked
            (content|usage|safety) policy
            safety system
            refusing to
            (for)? security reasons
            security (policy|violation|error)
            (command|commands|operation|operations|statement) ~ (is|are)? not (allowed|permitted|enabled)
            (method|action|tool|access) ~ (is|are)? not (allowed|permitted|enabled)
            (query|queries|host|domain|url) ~ (is|are)? not (allowed|permitted|enabled)
            (path|file type|extension|function) ~ (is|are)? not (allowed|permitted|enabled)
            (service|container|namespace|database|schema|directory) ~ (is|are)? not (allowed|permitted)
            (table|collection|bucket|repository|channel|program|binary|folder) ~ (is|are)? not (allowed|permitted)
            not (allowed|permitted) to
            (is|are) not permitted
            (is|are)? disabled (by|in|for|on)
            protected branch
            branch ~ is protected
            protected (cell|cells|range|sheet|field|tag|folder|file|section|area)
            (content|safety|moderation|profanity|spam) (filter|filters|moderation)
            (was|were|been|is) flagged (by|as|for)
        """,
        unless="""
            outside ~ (range|interval|bounds|limits)
            refusing to (overwrite|replace)
            (http|request)? method ~ not allowed
        """,
        confidence=0.88,
    ),
    Rule(
        name="no right to it",
        code="FORBIDDEN",
        evidence="HTTP 403 in words, missing scopes and roles, blocked accounts.",
        phrases="""
            (is|are|was) (forbidden|denied)
            cannot (get|list|create|delete|update|patch|watch) resource
            missing (access|role|rights)
            requires ~ (scope|scopes|permission|permissions|role|privileges|plan|subscription|license|licence)
            (trial|subscription|license|licence) (period)? (has|is)? (ended|expired|lapsed|run out)
            must (enable|activate|subscribe|accept|verify|agree)
            not available in your (region|country|location|organization)
            not (available|enabled|included) (on|in|for|with) (this|your|the) ~ (plan|tier|subscription|edition)
            access (is)? (denied|forbidden|restricted)
            access ~ denied
            forbidden
            not authorized
            not authorised
            authorization failed
            insufficient (permission|permissions|scope|scopes|privilege|privileges|rights|access)
            (does|do) not have (the|sufficient|required)? (permission|permissions|access|rights|privileges|scope|scopes)
            (does|do) not have required
            (lacks|lack|missing|without) (the|required|sufficient|any)? (permission|permissions|scope|right|rights)
            (permission|permissions|scope|scopes|privilege|privileges) (is|are)? (missing|lacking|required|needed)
            scope ~ (is)? (missing|required)
            (requires|needs) (an)? (admin|administrator|owner|root|superuser|sudo)
            (plan|tier|subscription) does not (include|support|allow|cover)
            you (cannot|can not|may not) do (that|this)
            has not been used in project
            (terms|agreement|conditions|license) ~ not (accepted|agreed|signed)
            (is|are) password protected
            (row level|column level|field level) security
            (nsfw|unsafe|harmful|inappropriate|explicit|prohibited) content
            (permission|access|consent|authorization) ~ not granted
            (lacks|lack|missing|without) (the|required|sufficient|any)? (scopes|privileges)
            (no|requires|required) (the|required|sufficient|any)? (permission|permissions|scope|scopes|privileges)
            must have (admin|write|push|read)
            access token ~ scope
            resource not accessible
            (account|user|subscription|workspace) ~ (suspended|banned|deactivated|revoked)
            (organization|organisation|access) ~ (suspended|banned|deactivated|revoked)
            (account|subscription|workspace|organization|access) ~ (been)? (disabled|blocked|terminated|locked)
            suspended (account|user|workspace|organization)
            cannot (send|post|write) ~ to this (user|person|channel|chat|group|number)
            permission ~ denied
            (admin|administrator|write|owner) (access|rights|permission|permissions|role) ~ (required|needed)
            (root|elevated|premium) (access|rights|permission|permissions|role) ~ (required|needed)
            (is|are) private
            you (cannot|may not|can not) (write|post|send|access|view|join|invite) (in|to|on|here)
            you (cannot|may not|can not) (reply|comment|publish|vote) (in|to|on|here)
            you (cannot|may not|can not) (edit|delete|change|modify|read|see) (this|that|these|those)
            no access (to|for|rights)?
            (is|are|was) (unverified|not verified)
            trial (account|accounts|version|mode)
            (may|can|must) not be (read|used|accessed|changed|modified) (by|through|with|here|in|from)
            (may|can|must) not be (written|viewed|shared|deleted) (by|through|with|here|in|from)
            private (video|repository|account|channel|profile)
            (admin|administrator|owner|admins|administrators|owners) (only|required|rights|privileges)
            only ~ (admin|admins|administrators|owner|owners|members) (can|may)
            not (shared|visible|accessible) (with|to) (you|this|your|the)
            not (enabled|activated|authorized|approved|available) for (this|your) (account|merchant)
            not (enabled|activated|authorized|approved|available) for (this|your) (project|organization|organisation)
            not (enabled|activated) for (this|your) (workspace|tenant|user|customer|team|seller)
            not (authorized|approved|available) for (this|your) (workspace|tenant|user|customer|team|seller)
            cannot (approve|review|merge|vote|follow|rate) ~ (your own|yourself)
            cannot (invite|report|block|unfollow|message|remove) ~ (your own|yourself)
            (has|have) not (opted in|consented|agreed|granted|authorized|authorised|enrolled)
            (has|have) (blocked|muted|banned|restricted) (you|the bot|this bot)
            (has|have) (blocked|muted|banned|restricted) (this app|your account|the sender|messages)
            (account|profile|merchant|application|seller|listing) ~ under review
            (has been|have been|was|were|is) revoked
            sudo ~ password
            (document|file|pdf|archive|workbook|disk|volume) is encrypted
            not accessible (from|by|to|for|with)
            (rejected|marked|classified|detected|flagged) as spam
            (you|user|bot|account|member) (was|were|has been|have been|are) (kicked|banned) (from|by)
            (you|user|bot|account|member) (was|were|has been|have been|are) (blocked|excluded|expelled) (from|by)
            (account|organization|organisation|user|email) must be (verified|approved|activated)
            (phone|domain|number|identity|business) must be (verified|approved|activated)
            (account|organization|organisation|user|email) must be (confirmed|authorized|validated)
            (phone|domain|number|identity|business) must be (confirmed|authorized|validated)
            (rule|policy|setting|settings|restriction|law|regulation) (prevents|forbids|disallows|prohibits)
            (guests|users|members|viewers|bots|guest|anonymous) may not
            (has|have) not been (enabled|activated|approved|granted|allowed) (for|on|in|to|by)
            (disallowed|sensitive|restricted|blocked) (content|file type)
            hook (declined|rejected|refused)
            (forbids|prohibits|disallows)
            (is|are|am) not the (owner|organizer|organiser|author|creator|admin|administrator|host|assignee) of
        """,
        unless="(does not exist|not found) or",
        confidence=0.88,
        blames=False,
    ),
    Rule(
        name="not a member",
        code="FORBIDDEN",
        evidence="Workspaces, chats and repositories that only members may use.",
        phrases="(is|are|am) not (a|an) (member|collaborator|participant|subscriber|admin|owner) (of|in|on)",
        confidence=0.75,
        blames=False,
    ),
    Rule(
        name="service unavailable",
        code="SERVICE_UNAVAILABLE",
        evidence="HTTP 503 in words, maintenance pages, starting services.",
        phrases="""
            service (is)? (temporarily|currently)? unavailable
            status code unavailable
            temporarily (unavailable|down|disabled|overloaded|out of service|rejected|deferred)
            currently unavailable
            under maintenance
            (undergoing|scheduled|down for) maintenance
            (in|for) maintenance
            maintenance (in progress|mode|window|until|break|is in progress)
            no healthy (upstream|upstreams|instances|backends|hosts|targets)
            server is (starting|starting up|loading|not ready|shutting down|restarting)
            (is|are) (still|currently)? (starting up|loading|initializing|warming up|booting)
            server selection error
            no servers available
            (daemon|docker|service|server|cluster) (is)? not (running|reachable|responding)
            is the docker daemon running
            no ~ (is|are) (currently)? (online|idle|free|up|healthy|reachable)
            leader (changed|lost|not available|unavailable|is not available)
            (no|not the|not a) leader
            waiting to start
            (service|server|api|system|site|backend) (is)? (currently)? not available
        """,
        confidence=0.88,
    ),
    Rule(
        name="overloaded",
        code="OVERLOADED",
        evidence="HTTP 529 and 503 in words.",
        phrases="""
            overloaded
            (server|service|system) (is)? (too)? busy
            (over|at) (max|maximum|full)? capacity
            all (workers|servers|agents|slots|instances|runners) are (currently)? (busy|in use|occupied)
            (no|insufficient|sufficient|not enough) (instance)? capacity
            (under|too) (heavy|much) load
            too busy
            (model|server|service|index|dataset) (is)? (loading|starting)
            high (load|demand|traffic)
            try again when
            (queue|buffer|pool) (is)? full
            (max|maximum) (connections|sessions|clients|workers|threads) (exceeded|reached|in use)
            insufficient ~ capacity
        """,
        confidence=0.88,
    ),
    Rule(
        name="gave up after some tries",
        code="UPSTREAM_ERROR",
        evidence="Clients of services that try again by themselves and do not say what went wrong.",
        phrases="""
            (max|maximum) ~ (retries|attempts|tries) (exceeded|reached|exhausted)
            (exceeded|reached|exhausted) ~ (retries|retry attempts|attempts|tries)
            (retries|retry attempts) (exceeded|exhausted)
            failed after ~ (attempts|retries|tries)
        """,
        unless="(login|sign in|password|authentication|verification|pin|otp) ~ (attempts|tries)",
        confidence=0.8,
        retryable=None,
    ),
    Rule(
        name="bad gateway",
        code="BAD_GATEWAY",
        evidence="HTTP 502 in words.",
        phrases="""
            bad gateway
            upstream connect error
            upstream (server)? (error|failure)
        """,
    ),
)
