"""What the pages of the dialects say in words: about each dialect, and about each of its fields."""

ABOUT: dict[str, str] = {
    "compact": """\
One JSON object whose first field is the decision: one of six types. Small, and the default.

Choose it if you have no reason to choose another.""",
    "envelope": """\
A JSON object in the manner of HTTP APIs: a code, a status, a hint, and every wrong field by its name.

Choose it for clients that already read such envelopes, or if a validation error should list each field with what was
sent. `encode` takes two settings: `clock`, a function that returns the time, and `version`.""",
    "flat": """\
A JSON object with one of eight literals under `error`. Codes without a literal are written as the nearest one, and
stated in full in `details`.

Choose it for clients that compare `error` with these literals. Servers of this contract never set `isError`; failwell
sets it, and reads results without it if told so: `read(result, dialect="flat")`.""",
    "meta": """\
Plain text for the model; the class of the error, its code and whether to retry stand in `_meta`.

Choose it if programs decide and the model only needs a sentence. The table shows the fields of `_meta`. The text is
the message, then, where there is something to say, the lines `Next: …`, `Wait at least: … seconds` and `Use: …`, then a
line `- path: what is wrong` for each field.""",
    "xml": """\
An XML element that says what failed and how to recover. Wrong arguments are a `<validation_error>`, everything else is
a `<tool_error>`.

Choose it if the model itself reads the error and should correct the call at once.""",
}

FIELDS: dict[str, dict[str, str]] = {
    "compact": {
        "type": "the type of the failure",
        "message": "the message",
        "recoverable": "whether another try, possibly with other input, may succeed",
        "data": "the details; then what has no field here: `code`, `retry_after`, `suggestion`, `actions`, `fields`, …",
    },
    "envelope": {
        "success": "marks the envelope as an error",
        "error_code": "the code, in this dialect's spelling",
        "message": "the title of the code, the same for every failure with it",
        "error": "the message of this failure",
        "code": "an HTTP status",
        "hint": "the suggestion; for missing fields, which ones to add",
        "details": "the details; then `validation_errors` by field, the same as `all_errors`, and what has no field "
        "here: `tool`, `retry_after`, `actions`, …",
        "required_fields": "the fields that were missing",
        "timestamp": "when the error was written, ISO 8601",
        "version": "the version of the server's API",
    },
    "flat": {
        "error": "the literal nearest to code and type",
        "message": "the message",
        "details": "the details; then what has no field here: `code`, `retry_after`, `suggestion`, `actions`, …",
    },
    "meta": {
        "errorType": "the class of the error, `kind`",
        "errorCode": "the code",
        "retryable": "whether the same call may succeed later; left out if nobody can say",
    },
    "xml": {
        "`<tool_error code severity>`": "the root; both attributes only if they are stated",
        "`<message>`": "the message",
        "`<recovery>`": "the suggestion",
        "`<available_actions>`": "the actions, an `<action>` each; for `MISSING_DISCRIMINATOR` and `UNKNOWN_ACTION` a "
        "comma list that stands before `<recovery>`",
        "`<details>`": "a `<detail key>` for each detail, then for what has no element here; values that are no text "
        "are written as JSON",
        "`<retry_after>`": "the delay, as `30 seconds`",
        "`<validation_error action>`": "the root if the code is `VALIDATION_FAILED` and fields are known; the "
        "attribute is `tool/action`",
        "`<field name>`": "one wrong field: what is wrong, what was sent, what is expected; the `<recovery>` below "
        "them is always the same",
    },
}
