"""Texts that speak of errors without being one: what files, logs, notes and records hold in real life."""

LOG_LINES = (
    "2026-03-01 08:12:44 ERROR worker.queue: job 118 failed: ConnectionRefusedError: [Errno 111] Connection refused",
    "2026-03-01 08:12:45,003 INFO worker.queue: job 118 retried, attempt 2 of 5",
    "[08:13:01] WARN  cache miss ratio above 0.4 for region eu-central",
    '2026-03-01T08:13:09Z level=error msg="upstream timed out" path=/v1/orders status=504 duration=30.002s',
    "Mar  1 08:14:22 gateway sshd[2214]: Failed password for invalid user admin from 10.0.0.9 port 51122 ssh2",
    'E0301 08:15:00.331 controller.go:114] pods "web-7" not found',
    'FATAL:  password authentication failed for user "report"',
    "npm ERR! code ENOENT",
    "Traceback (most recent call last):",
    "ValueError: invalid literal for int() with base 10: 'twelve'",
    'java.lang.NullPointerException: Cannot invoke "Order.total()" because "order" is null',
    "kernel: Out of memory: Killed process 4121 (indexer)",
)

DOCUMENTS = {
    "runbook.md": "# When the queue fails\n\nIf you see `connection refused`, the broker is down. Restart "
    "it and wait 30 seconds.\n\n"
    "- `429 Too Many Requests`: the mail service limits us to 100 requests a minute. Retry after the time "
    "it names.\n"
    "- `403 Forbidden`: the token expired. Ask the platform team for a new one.\n",
    "api.md": "## Errors\n\n| code | meaning |\n|---|---|\n| `not_found` | The resource does not exist. |\n"
    "| `invalid_request` | A required parameter is missing or invalid. |\n| `rate_limited` | Too many "
    "requests. |\n",
    "faq.txt": "Why do I get 'permission denied'?\nBecause the directory belongs to another user. Run the "
    "installer again.\n\n"
    "Why does it say 'database is locked'?\nTwo programs write at once. Close one of them.\n",
    "report.txt": "Summary of March: 14 failed deliveries, 3 of them because the address was invalid. No timeouts.\n",
    "errors.json": '{\n  "known": [\n    {"code": 404, "message": "Not found"},\n    {"code": 500, '
    '"message": "Internal server error"}\n  ],\n  "version": 3\n}\n',
    "settings.json": '{"retries": 3, "timeout": 30, "on_error": "stop", "error": null}\n',
    "handler.py": "def load(path):\n    try:\n        return open(path).read()\n    except FileNotFoundError:\n"
    "        raise SystemExit(f'Error: {path} does not exist')\n",
    "client.ts": "if (!response.ok) {\n  throw new Error(`Request failed with status code ${response.status}`);\n}\n",
    "test_output.txt": "collected 42 items\n\ntests/test_orders.py ..F...\n\nFAILED "
    "tests/test_orders.py::test_total - AssertionError: 3 != 4\n1 failed, 41 passed\n",
    "todo.txt": "[ ] handle 'invalid token'\n[x] show a better message when the file is not found\n[ ] rate "
    "limit the search\n",
    "story.txt": "The captain denied the crew permission to land. 'It does not exist,' she said of the "
    "island, and the map was wrong.\n",
    "poem.txt": "Lost connection, missing key,\nno such door was found for me.\n",
    "empty.txt": "\n",
    "numbers.csv": "status,count\n200,9123\n404,31\n500,2\n",
    "changelog.md": "# Changes\n\n- Fixed: an error when the path was missing.\n- Fixed: requests that "
    "timed out were not retried.\n",
    "mail.txt": "Subject: Access denied\n\nHello, I tried to log in but it says my password is invalid. Can "
    "you help?\n",
}

SENTENCES = (
    "The deployment failed twice because the disk was full, and worked after cleaning up.",
    "Users report: 'Error: cannot connect to server' on the login page.",
    "Error handling is documented in chapter four.",
    "Retry after 30 seconds is the rule for the mail service.",
    "The request was denied by the committee.",
    "404 guests came, 500 were invited.",
    "Invalid input is rejected with a clear message.",
    "Nothing was found in the east wing.",
    "Permission denied is the most frequent complaint.",
    "A missing parameter costs us an hour each week.",
    "The file not found page needs a new picture.",
    "Unknown authors wrote half of these songs.",
    "Timeouts are rare since the new cable.",
    "He could not find the key, so he left it open.",
    "The rate limit was raised to 1000 requests per minute.",
)
