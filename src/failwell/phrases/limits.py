"""Wordings of limits: those that end after a wait, and those that don't."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="calls suspended",
        code="CIRCUIT_OPEN",
        evidence="Circuit breakers of gateways and clients.",
        phrases="circuit (breaker)? (is|was)? open, circuit breaker ~ (tripped|open)",
        confidence=0.88,
    ),
    Rule(
        name="quota used up",
        code="QUOTA_EXHAUSTED",
        evidence="Billing limits of APIs, which no short wait lifts.",
        phrases="""
            insufficient (api|account|prepaid)? (quota|credit|credits|balance|funds)
            out of (quota|credit)
            budget (has been|was|is)? (exhausted|used up|exceeded|spent)
            (seat|user|member|project|license|licence|device|workspace) limit (has been|was|is)? (reached|exceeded)
            (quota|credits|credit balance|allowance) (has been)? (exhausted|used up|depleted|too low)
            exceeded your (current)? quota
            (daily|monthly|weekly|yearly|plan) (api)? (quota|limit|cap) (has been)? (exceeded|reached)
            (usage|spend|spending|billing) (api)? (quota|limit|limits|cap) (has been)? (exceeded|reached)
            out of credits
            (daily|monthly|weekly|yearly|annual) ~ (quota|limit|cap|allowance)
            (quota|limit|cap|requests) (per|for the|for this|for|each) (day|month|week|year|today)
            (storage|disk|upload|mailbox|space) (quota|limit) ~ (exceeded|reached|full)
            exceeded ~ (storage|disk|upload|mailbox) (quota|limit)
            not enough credits
            credit balance is too low
            usage limit (reached|exceeded)
            quota resets
            (hit|reached|exceeded|exceeds) ~ usage limit
            (limit|cap|allowance) (for|of|on) (your|this|the) ~ (plan|tier|subscription)
            quota ~ plan
            maximum number of ~ reached
            billing (hard limit|not active|is not active|account)
            (used|consumed|spent|used up) (all|100) ~ (minutes|credits|quota|requests)
            (used|consumed|spent|used up) (all|100) ~ (tokens|allowance|calls|searches|seats)
            (no|0|zero) (credits|tokens|minutes|searches|calls|requests) (left|remaining)
            not enough (funds|money|balance)
            (quota|allowance|credits) (for|of|on) ~ (exhausted|used up|depleted)
            over (its|your|the|their) ~ (quota|storage limit|allowance)
        """,
        confidence=0.88,
    ),
    Rule(
        name="rate limited",
        code="RATE_LIMITED",
        evidence="HTTP 429 in words; limits of APIs and of servers themselves.",
        phrases="""
            rate limit*
            ratelimit
            ratelimited
            too many requests
            toomanyrequests
            (requests|queries|calls|messages|tokens|operations|reads|writes|limit) per (second|minute|hour)
            throttled
            throttling
            provisioned throughput exceeded
            slow down
            (going|calling|requesting|sending) too (fast|quickly|often)
            limited to ~ per (second|minute|hour)
            request limit exceeded
            resource (has been|was|is)? exhausted
            flood (wait|control)
            too many (calls|attempts|queries|messages)
            (concurrent|concurrency|parallel|simultaneous) ~ (limit|limits) (exceeded|reached|hit)
            too many (concurrent|parallel|simultaneous)
            over query limit
            rate exceeded
            (wait|retry|try again) ~ before (making|sending|requesting|trying)
            (wait|pause|delay) of ~ (second|seconds|minute|minutes|hour|hours) (is|are)? (required|needed)
            (request|requests|call|calls) (limit|limits) (has been|have been|was|were)? (exceeded|reached|hit)
            (query|queries|api|sending) (limit|limits) (has been|have been|was|were)? (exceeded|reached|hit)
            (concurrent|concurrency|parallel|simultaneous) (limit|limits|quota) ~ (exceeded|reached|hit)
            (hourly|per minute|minutely) ~ (quota|limit|cap|allowance)
        """,
        unless="rate limit* (tier|policy|group|config*|rule|id|name), rate limit* ~ not (supported|configured|set)",
        confidence=0.93,
    ),
    Rule(
        name="plan used up",
        code="QUOTA_EXHAUSTED",
        evidence="Services that ask for a larger plan or name no period; a limit per second is a rate limit.",
        phrases="""
            (upgrade|exceeded) ~ (your)? plan
            quota (has been|was|is)? (exceeded|reached)
            exceed* ~ quota
            over ~ quota
        """,
        confidence=0.88,
    ),
)
