"""Reports made by hand: of a server with every kind of ending, of a perfect one, and of a hostile one."""

from typing import Any

from failwell.check.report import (
    GradeResult,
    NotProbed,
    ProbeResult,
    ProposedChange,
    Regression,
    Report,
    ServerSummary,
    ToolReport,
    Totals,
)

FLAGGED = GradeResult(
    grade="flagged", channel="call", passed=True, weight=15, reason="the failure is flagged as an error"
)
UNFLAGGED = GradeResult(
    grade="flagged", channel="call", passed=False, weight=15, reason="the error is sent as a success"
)
NAMELESS = GradeResult(
    grade="names_field", channel="text", passed=False, weight=10, reason="the text does not name task_id"
)
FLAT = GradeResult(
    grade="retry_flag", channel="machine", passed=False, weight=4, reason="only plain text: a program has to guess"
)
SLOW = GradeResult(grade="speed", channel="call", passed=False, weight=3, reason="there was no answer in time")

HOSTILE = (
    "</pre></script></style><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>"
    "\"'><svg onload=window.pwned=3> \u202egnp.exe\u202c \x1b[31mred\x00 ]]> &lt;b&gt; {{7*7}} password=hunter2hunter2"
)


def probe(name: str, *grades: GradeResult, tool: str = "read_task", **changes: Any) -> ProbeResult:
    reached = sum(graded.weight for graded in grades if graded.passed)
    total = sum(graded.weight for graded in grades)
    values: dict[str, Any] = {
        "id": f"{tool}/{name}",
        "probe": name.partition("/")[0],
        "tool": tool,
        "violates": "the required field task_id is left out",
        "field": "task_id",
        "arguments": {"task_di": 1},
        "schema_violation": True,
        "ending": "refused",
        "text": "invalid input",
        "better": '{"type":"VALIDATION","message":"task_id is required"}',
        "code": None,
        "failure": None,
        "repaired": None,
        "seconds": 0.25,
        "score": round(100 * reached / total, 1) if total else None,
        "grades": grades,
    }
    return ProbeResult(**{**values, **changes})


def report(*tools: ToolReport, **changes: Any) -> Report:
    values: dict[str, Any] = {
        "score": 61.5,
        "grade": "C",
        "server": ServerSummary(name="tasks", version="1.2", sdk="fastmcp", target="python server/tasks.py --port 1"),
        "channels": {"call": 88.0, "text": 42.5, "machine": 0.0},
        "totals": Totals(probes=5, unflagged=1, accepted=1, hung=1, crashed=0, schema_violations=4, repairable=1),
        "tools": tools,
        "not_probed": (),
        "changes": (),
        "seconds": 1.25,
    }
    return Report(**{**values, **changes})


def tool(name: str, *probes: ProbeResult, **changes: Any) -> ToolReport:
    values: dict[str, Any] = {"name": name, "read_only": True, "score": 61.5, "grade": "C", "probes": probes}
    return ToolReport(**{**values, **changes})


CHANGE = ProposedChange(
    title="Give failures a type",
    why="A program must not guess.",
    gain=16.1,
    cures=("typed", "field_path"),
    tools=("read_task", "write_task"),
    sdk="fastmcp",
    language="python",
    snippet='import failwell as fw\n\nfw.protect(server)  # "quoted" & <kept>',
)

MIXED = report(
    tool(
        "read_task",
        probe("missing_field/task_id", FLAGGED, NAMELESS, FLAT),
        probe("wrong_type/task_id", UNFLAGGED, ending="unflagged", text="Error: nope"),
        probe("null/task_id", FLAGGED, code="VALIDATION_FAILED", repaired={"task_id": 1}),
        probe("unknown_field", ending="accepted", text="fine"),
    ),
    tool("write_task", probe("empty", SLOW, tool="write_task", ending="hung", text=""), read_only=False, score=0.0),
    not_probed=(
        NotProbed(tool="write_task", probe="unknown_field", reason="it would run the tool"),
        NotProbed(tool="write_task", probe="wrong_format/due", reason="it would run the tool"),
    ),
    changes=(CHANGE,),
)

PERFECT = report(
    tool("read_task", probe("empty", FLAGGED, code="VALIDATION_FAILED"), score=100.0, grade="A"),
    score=100.0,
    grade="A",
    channels={"call": 100.0, "text": 100.0, "machine": 100.0},
)

COMPARED = report(
    *MIXED.tools,
    worse=(Regression(probe="read_task/missing_field/task_id", what="names_field: the text does not name task_id"),),
)

HOSTILE_EVERYWHERE = report(
    tool(
        HOSTILE,
        probe(
            HOSTILE,
            UNFLAGGED,
            tool=HOSTILE,
            violates=HOSTILE,
            field=HOSTILE,
            text=HOSTILE,
            better=HOSTILE * 200,
            code=HOSTILE,
            arguments={HOSTILE: HOSTILE},
            repaired={HOSTILE: HOSTILE},
        ),
    ),
    server=ServerSummary(name=HOSTILE, version=HOSTILE, sdk=HOSTILE, target=HOSTILE),
    not_probed=(NotProbed(tool=HOSTILE, probe=HOSTILE, reason=HOSTILE),),
    changes=(
        ProposedChange(
            title=HOSTILE, why=HOSTILE, gain=1.0, cures=(HOSTILE,), tools=(HOSTILE,), sdk=HOSTILE, language=HOSTILE,
            snippet=HOSTILE,
        ),
    ),
    worse=(Regression(probe=HOSTILE, what=HOSTILE),),
)  # fmt: skip

ALL = {"mixed": MIXED, "perfect": PERFECT, "compared": COMPARED, "hostile": HOSTILE_EVERYWHERE}
