"""Wordings for a call that conflicts with the current state."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="exists already",
        code="ALREADY_EXISTS",
        evidence="Create operations of services and programs.",
        phrases="""
            already exist*
            (cannot|will not|refusing to|would) overwrite (an|the)? (existing)?
            already (been)? (taken|registered|used|added|created|defined|connected|installed|assigned)
            (is|was) already (taken|registered|used|added|created|defined|a member)
            (name|username|email|id|title|slug) ~ (taken|not unique)
            (name|username|email|email address|title|slug|alias|domain|label) ~ already in use
            duplicate
            duplicates
            (to|must|should) be unique
            (name|username|handle|domain|subdomain) (is|was) (not available|unavailable|in use)
            (slug|alias|nickname|bucket|address) (is|was) (not available|unavailable|in use)
        """,
        unless="""
            duplicate* ~ not supported
            (cannot|could not|failed to|unable to) duplicate
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
            no active (shell|process|device|player|call|debugger|editor|task|workspace|recording)
            no active ~ (session|connection|shell)
            (no|not any) (open|current|selected|active) (page|pages|browser|session|tab)
            (no|not any) (open|current|selected|active) (document|project|database|connection)
            (must|need|needs|have|has) to (be)? (first)? (connect|connected|initialize|initialized|open|opened)
            (must|need|needs|have|has) to (be)? (first)? (start|started|navigate|call|select)
            (must|should) (first)? (connect|initialize|navigate|be initialized|be connected|call)
            not (been)? (initialized|initialised|started|opened|connected|loaded)
            before (you can|calling|using|it can)
            (call|use|run) ~ first
            illegal state
            invalid state (transition|for|to|of|error|exception)?
            (is|are) (not)? (currently)? in (the|a)? ~ state
            while ~ is running
            (is|are) closed
            already (been)? (closed|completed|cancelled|canceled|finished|merged|resolved|running|started)
            already (been)? (booked|paid|shipped|delivered|sent|submitted|processed|approved|archived|reserved|claimed)
            already (been)? (scheduled|refunded|signed|published|deleted|removed|locked|enabled|disabled|voted|joined)
            already (in use|allocated|owned|mapped|mounted|active|has a|has an)
            (has|have) been modified
            (is|are|was) not (mergeable|mergable|draft|editable|cancellable|refundable|eligible)
            cannot (merge|rebase|fast forward)
            (updates|push) (was|were) rejected
            failed to push some refs
            non fast forward
            (is|are) (unavailable|not available) (during|between)
            (is|are) (unavailable|not available) on (monday|tuesday|wednesday|thursday|friday|saturday|sunday|that day)
            (branch|copy|version|state|file|lockfile|document) ~ out of date
            (review|reviews|approval|approvals) (is|are|was|were)? (required|needed|pending|not given)
            (confirmation|consent) (is|are|was|were)? (required|needed|pending|not given)
            nothing (is|was)? selected
            (slot|seat|name|time|room|number|date|spot|position) (is)? taken
            (someone|somebody) (else)? (edited|changed|modified|updated|deleted)
            (record|file|page|document|item|row|object|note) (was)? changed since
            stale (version|revision|data|object|state|read)
            (has|have|with) (merge)? conflicts
            (is|are) (completed|complete|finished|final|done) and (cannot|can not)
            (close|start|stop|finish|save|commit|open|run|select|create|publish|handle) (the|your|this|a|it) ~ first
            (was|were|is|are) not ~ first
            (is|are) checked out (by|to)
            cannot (delete|remove|archive|close|move|rename) ~ (while|it has|has children|it contains|they have)
            wrong state
            (is|are) (currently)? (halted|paused|frozen|terminating|rebuilding|hidden)
            (was|were|is|are|been) destroyed
            unsaved changes
            circular reference
            (is|are) being (deleted|created|rotated|migrated|moved|rebuilt|restored|provisioned|updated)
            (cycle|circular dependency|circular reference|loop) (was)? detected
            create a (cycle|loop)
            not (exportable|downloadable|shareable|deletable|removable|modifiable|transferable|renewable)
            archived ~ (cannot|can not) be
            (unable to resolve|conflicting) (peer)? dependency
            cannot (delete|remove|drop|archive|close|deactivate) ~ with (active|open|existing|running|pending|unpaid)
            cannot (delete|remove|drop|archive|close|deactivate) ~ with (dependent|associated|remaining|outstanding)
            (was|were|is|are|been) (cancelled|canceled|voided|finalized|finalised|paid) and (cannot|can not)
            no commits between
            nothing to (do|undo|redo|update|merge|push|save|change)
            conflict occurred
            patch (does not apply|failed to apply|cannot be applied)
            (slot|time|seat|room|date|table|offer|price|stock) ~ no longer available
            (is|are|was|has been) archived
            conflicts with
            (scheduling|calendar|booking|naming|version|write) conflict
            out of stock
            sold out
            fully booked
            not enough (stock|inventory|seats|tickets|items|time)
            (game|match|auction|poll|trial) (is|has) (already)? (over|ended|expired|finished)
            (event|deadline|round|survey) (is|has) (already)? (over|ended|expired|finished)
            not your turn
            (is|are) not (running|ready|active|online|available yet|idle)
            not ready (yet)?
            check back (in|later)
            (is|are) still (processing|pending|indexing|loading|being)
            (has|have) (ended|changed|expired)
            (sha|etag|hash|checksum|version|revision|fingerprint) ~ (does not|did not) match
            has not been ~ (yet|first)
            (read|open|load|create|save|start|select|close|connect) (it|one) first
            (page|browser|target|context|window|tab) (has been|was|is)? closed
            (name|key|id|title|alias) exists
            idempoten* ~ (same|different) (parameters|request|body|payload)
            (is|are) not empty
            no (project|workspace|document|file|model) (is)? (loaded|selected|open|opened)
            no (database|page|image|scene|repository) (is)? (loaded|selected|open|opened)
            (project|workspace|document|file|model|database|page|repository) (is)? not (set|selected|loaded|open|opened)
            (element|button|field) is not (visible|clickable|enabled|editable|interactable|attached)
            (objects|resources|rows|records) depend on
            depends on it
            depend on it
            cannot be ~ because
            has diverged
            (pull|commit|push|save|stash|open|close|stop|create|log in|initialize) (it|them|one|your changes)? first
            (is|are) disabled
            cannot share
            (is|are) the (only|last) ~ (in|of|on)
            (within|inside) (an)? existing
            (is|are) still (referenced|in use|used|running|open|attached)
            in (its|the|this|their) (current|present) (state|status)
            (can|may|must) only be ~ (when|while|after|once|if)
            insufficient (buying power|margin|stock|inventory|liquidity)
            cannot (delete|remove|drop|rename|move|close|create|update|archive) ~ because
            cannot (delete|remove) (the)? (default|last|only|primary|active|root)
            because ~ (is|are) (still)? (associated|linked|referenced|assigned|attached|used|related)
            (overlaps|overlap|overlapping) (with|another|an|the)
            (has been|have been|is|are|was|were|be) double booked
            (is|are|was|were) stale
            (can|may|could) no longer be
            only ~ (can|may) be (retried|cancelled|canceled|refunded|reopened)
            only ~ (can|may) be (restarted|resumed|merged|approved|published)
            only ~ (can|may) be (edited|deleted|archived|restored|rescheduled|shipped|captured|voided|completed|closed)
            (is|are) (obscured|covered|intercepted) by
            intercepts pointer events
            (battery|signal|charge|power|voltage|pressure|toner|ink) (level)? (is)? too (low|weak|high)
            (is|are) (currently)? in ~ mode
            (code|link|invitation|invite|offer|coupon|voucher|quote|lease|cursor|window|challenge) expired
            not enough (buying power|margin|shares|liquidity|space)
            (fix|resolve) ~ conflicts
            (is|are|was|were|has been|have been) (deactivated|inactive)
            (is|are) (turned|switched) off
            (has|have) (closed|started|begun|passed|finished|stopped)
            (window|poll|ticket|position|thread|conversation|registration|market) closed
            (must|has to|have to|needs to|need to) be ~ first
            (is|are|was|were) (superseded|withdrawn|retracted|voided|detached)
            (is|are) (booked|occupied|reserved|taken)
            (has|have) (active|open|running|pending|unpaid|outstanding|dependent|attached|unfinished)
            (branch|copy|fork|local|head) is behind
            (circular|cyclic) (dependency|dependencies|import)
            (has|have) (just)? been (closed|merged|refunded|taken|sold|shipped)
            (has|have) (just)? been (cancelled|canceled|completed|finished|ended|finalized)
            (has|have) (just)? been (finalised|locked|frozen|resolved|settled|captured)
            (has|have) (just)? been (voided|converted|transferred|migrated|renamed|replaced|grouped)
            (was|were) (just)? (closed|merged|refunded|taken|sold|shipped) (by|on|in|into|at|to|with)
            (was|were) (just)? (cancelled|canceled|completed|finished|ended|finalized) (by|on|in|into|at|to|with)
            (was|were) (just)? (finalised|locked|frozen|resolved|settled|captured) (by|on|in|into|at|to|with)
            (was|were) (just)? (voided|converted|transferred) (by|on|in|into|at|to|with)
            (was|were) (just)? (migrated|renamed|replaced|grouped) (by|on|in|into|at|to|with)
            (it|them|this|that|these|one) first
            before doing (anything|this|that)
            concurrent (update|modification|change|edit|write)
            changed (on disk|meanwhile|in the meantime|since)
            marked for (deletion|removal)
            (is|are) suspended
            (is|are) still a draft
            (is|are) (stuck|jammed)
        """,
        unless="""
            invalid state (code|name|value|id|abbreviation)
            (is|was|were)? not found ~ first
            no (open|active|current) ~ (with|by) (the|this|that)? (id|index|name|number|title|key)
        """,
        confidence=0.8,
    ),
    Rule(
        name="busy or locked",
        code="RESOURCE_BUSY",
        evidence="Devices, documents and records that one caller at a time may use.",
        phrases="""
            (is|are) (currently)? (busy|locked)
            locked by
            lock (is|was)? (currently)? (held|owned|taken) by
            (someone|somebody) else (is|has|was)
            another (user|person|client|editor|session) (is|has|was)
            (is|are) (currently)? being (edited|used|processed|modified|updated) (by|elsewhere)
            exclusive (access|lock|use)
            (open|opened|in use|used) (in|by) (another|other|a different) (program|process|application)
            (open|opened|in use|used) (in|by) (another|other|a different) (app|window|user|instance)
        """,
        confidence=0.8,
    ),
    Rule(
        name="more than one fits",
        code="AMBIGUOUS",
        evidence="Edits and look-ups that must be unique.",
        phrases="""
            ambiguous
            (multiple|several|more than one) (match|matches|results|occurrences|elements)
            (occurs|appears|found|present) more than once
            (multiple|several|more than one) (files|records|objects|candidates)
            (is|are|was) not unique
            matches multiple
            strict mode violation
            (appears|occurs|found|matches) ~ (times|places)
            found ~ (matches|occurrences)
            may refer to
            more than one ~ matches
        """,
        unless="found (0|no|zero)",
        confidence=0.8,
    ),
)
