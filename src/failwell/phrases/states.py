"""How programs say that the present state stands against a call."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
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
            (no|not any) (open|current|selected|active) (page|pages|browser|session|tab)
            (no|not any) (open|current|selected|active) (document|project|database|connection)
            (must|need|needs|have|has) to (be)? (first)? (connect|connected|initialize|initialized|open|opened)
            (must|need|needs|have|has) to (be)? (first)? (start|started|navigate|call|select)
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
            (multiple|several|more than one) (match|matches|results|occurrences|elements)
            (multiple|several|more than one) (files|records|objects|candidates)
            (is|are|was) not unique
            matches multiple
            strict mode violation
        """,
        confidence=0.8,
    ),
)
