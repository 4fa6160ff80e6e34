"""What is measured: an error as servers send them, of medium size."""

import failwell as fw

DECLARED = fw.Failure(
    code="RATE_LIMITED",
    message="The mail service takes 100 requests a minute.",
    retry_after=30,
    suggestion="Wait half a minute, then send the rest.",
    actions=("mail.status",),
    details={"limit": 100, "window": "minute", "account": "team"},
    tool="mail_send",
)
INVALID = fw.Failure(
    code="VALIDATION_FAILED",
    message="to is required; body, retries are invalid",
    fields=(
        fw.FieldProblem(path="to", kind="missing", required=True),
        fw.FieldProblem(path="body", kind="type", sent=5, expected="string"),
        fw.FieldProblem(path="retries", kind="enum", sent="many", options=("none", "few")),
    ),
    tool="mail_send",
)
SAMPLES = {"rate limit": DECLARED, "three fields": INVALID}
