"""Wordings of a program's own bugs, in any programming language."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
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
            event loop is (closed|already running)
            assertion (error|failed)
            runtime error invalid memory
            is not json serializable
            (unable to|cannot|could not|failed to) serialize (the|to|as|unknown|result|output|response)
            error serializing
            serialization error
            runtime error (index|slice|integer|hash|makeslice|close)
            panicked at
            goroutines are asleep
            segmentation fault
            unboundlocalerror
            referenced before assignment
            unsupported operand
            missing ~ required positional (argument|arguments)
            got an unexpected keyword argument
            takes ~ positional (argument|arguments) but
            object is not an iterator
            unhashable type
            not enough values to unpack
            too many values to unpack
            is not a constructor
            is not defined
            is undefined
            cannot destructure
            key error
            index error
        """,
        confidence=0.8,
        retryable=None,
    ),
    Rule(
        name="program died",
        code="WORKER_CRASHED",
        evidence="Kernels, workers and child processes that end in the middle of a call.",
        phrases="""
            (kernel|worker|process|subprocess|interpreter) (has)? (died|crashed|been killed|was killed|terminated)
            misconf
        """,
        confidence=0.8,
        retryable=None,
    ),
    Rule(
        name="client cannot do it",
        code="CLIENT_UNSUPPORTED",
        evidence="MCP SDKs whose client has not the capability that a tool asks for.",
        phrases="""
            client does not (support|have) ~ (sampling|elicitation|roots)
            (sampling|elicitation|roots) (is|are)? not (supported|available|enabled) (by|in|on) (the|this|your)? client
        """,
        confidence=0.9,
        blames=False,
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
