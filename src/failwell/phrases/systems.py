"""Wordings of operating systems, as every language's standard library passes them on."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="program missing",
        code="CONFIG_ERROR",
        evidence="Shells, process libraries and browser drivers, when what they start is not installed.",
        phrases="""
            spawn ~ enoent
            command not found
            executable file not found
            executable does not exist
            is not recognized as an internal or external command
            (chrome|chromium|firefox|browser|webkit|executable|binary|driver) ~ is not (found|installed)
            (browser|driver|executable|binary) ~ not installed
            looks like ~ was just installed or updated
            playwright install
            no module named
            modulenotfounderror
            cannot find module
            cannot find package
            could not find ~ executable
            please install
            (must|should|has to|needs to) be (in|on) (your|the)? path
            dependency (is)? missing
            not available on this (machine|system|platform|host|server|computer)
            (is|are) not installed
            not installed
            (pip|pip3|npm|pnpm|yarn|brew|apt|apt get|conda|cargo|gem|uv|dnf|choco) (install|add)
            (install|installed|found|not) ~ (on|in|to) (your|the)? path
            missing (an)? (optional|required)? (dependency|dependencies|library|binary|executable|program|plugin)
            (dependency|dependencies|library|binary) ~ (is|are|was) (required|missing|needed)
            (executable|program|jvm|runtime) ~ (is|are|was) (required|missing|needed)
            required (dependency|binary|executable|program|library) ~ (missing|not found|not available)
            (executable|binary|program|interpreter|runtime|compiler) ~ (could not be|cannot be|not) (found|located)
            (could not|cannot|unable to|failed to) (find|locate) (the)? (chrome|chromium|firefox)
            (could not|cannot|unable to|failed to) (find|locate) (the)? (browser|executable|binary)
            (could not|cannot|unable to|failed to) (find|locate) ~ (installation|installed|executable|binary|on path)
            no (jvm|java|pandoc|docker|compiler|display|gpu|cuda|ffmpeg) ~ (found|available|installed|detected)
            (ffmpeg|ffprobe|pandoc|tesseract|libreoffice) ~ (not|needed|required|must)
            (soffice|ghostscript|graphviz|imagemagick) ~ (not|needed|required|must)
            (wkhtmltopdf|poppler|chromedriver|geckodriver) ~ (not|needed|required|must)
            (exiftool|pdflatex|xelatex|ripgrep) ~ (not|needed|required|must)
            not found on (this|your|the) (machine|system|host|computer)
            (executables|binaries) ~ path
            (either|first|to|must|please) install
            (ensure|make sure|check|verify) ~ (is|are) installed
            (ensure|make sure|check|verify) ~ (in|on) (your|the|system)? path
            cannot import name
            missing (its|the) (configuration|config|settings|credentials) file
            import error
            (sh|bash|zsh) ~ not found
            library not loaded
            cannot open shared object file
        """,
        unless="(failed|unable|could not|cannot|error) (to)? (connect|connecting|reach) ~ running",
        confidence=0.85,
    ),
    Rule(
        name="file or directory missing",
        code="FILE_NOT_FOUND",
        evidence="ENOENT of every operating system, and its words in Python, Node.js, Go, Rust, Java and .NET.",
        phrases="""
            no such file
            enoent
            errno 2
            os error 2
            os error 3
            winerror (2|3)
            cannot find the (file|path)
            could not find (file|a part of the path)
            could not find the (file|path)
            (file|path|directory|folder|document|image) ~ (does not|not|doesn't) exist
            (file|path|directory|folder) (was)? not found
            (file|directory|path) not found (error|exception)
            file not found error
            (file|path|directory|folder|document|workbook|image) not found
            no (file|files|directory|folder|document) ~ found
            no such (directory|path|folder)
            does not exist or is not a (file|directory)
            not an existing (file|directory)
            nosuchfileexception
            input file is missing
        """,
        confidence=0.93,
    ),
    Rule(
        name="path of the wrong kind",
        code="WRONG_PATH_KIND",
        evidence="EISDIR and ENOTDIR, and tools that tell files from directories.",
        phrases="""
            is a directory
            eisdir
            errno 21
            os error 21
            illegal operation on a directory
            not a directory
            enotdir
            errno 20
            os error 20
            is not a (file|regular file|directory|folder)
            not a (regular)? file
            path is not a
            expected a (file|directory)
        """,
        confidence=0.9,
    ),
    Rule(
        name="not empty",
        code="NOT_EMPTY",
        evidence="ENOTEMPTY.",
        phrases="""
            directory not empty
            enotempty
            (directory|folder|bucket|container|database) is not empty
            non empty (directory|folder|bucket|container|database|collection)
            errno 39
            os error 39
        """,
    ),
    Rule(
        name="no space left",
        code="DISK_FULL",
        evidence="ENOSPC and EDQUOT.",
        phrases="""
            no space left
            enospc
            disk quota exceeded
            edquot
            (disk|volume|drive|partition|filesystem|storage) (is)? full
            table ~ is full
            errno 28
            os error 28
            not enough space
            database or disk is full
        """,
    ),
    Rule(
        name="read-only place",
        code="READ_ONLY",
        evidence="EROFS, read-only databases, transactions and modes of servers.",
        phrases="""
            read only file system
            erofs
            errno 30
            (readonly|read only) (database|mode|transaction|connection|replica|user|access|filesystem|volume|server)
            in (a)? (readonly|read only)
            (is|are) (readonly|read only)
            (write|writes|writing|modification) ~ (not allowed|not permitted|disabled)
            (modifications|mutation|mutations) ~ (not allowed|not permitted|disabled)
            (write|writes|modification|mutation) (operation|operations|access)? (is|are)? (not allowed|disabled)
            (write|writes|modification|mutation) (queries|tool|tools)? (is|are)? (not allowed|disabled)
            set to read only
        """,
        confidence=0.9,
    ),
    Rule(
        name="lock not granted",
        code="LOCK_TIMEOUT",
        evidence="Oracle ORA-00054, which begins like EBUSY.",
        phrases="resource busy and acquire with nowait",
    ),
    Rule(
        name="used by somebody else",
        code="RESOURCE_BUSY",
        evidence="EBUSY, ETXTBSY and sharing violations.",
        phrases="""
            resource busy
            device or resource busy
            ebusy
            being used by another process
            used by another process
            sharing violation
            winerror 32
            text file busy
            (address|port) ~ already in use
            eaddrinuse
            (is|are) already (running|in progress|open|being processed)
            another (operation|instance|process|request) is (already)? (in progress|running)
            another (job|task|deployment|transaction) is (already)? (in progress|running)
            is (currently)? in use
        """,
        unless="(name|email|e mail|email address|username|alias|title) ~ already in use",
        confidence=0.85,
    ),
    Rule(
        name="permission denied by the system",
        code="FORBIDDEN",
        evidence="EACCES and EPERM of every operating system.",
        phrases="""
            permission denied
            eacces
            eperm
            errno 13
            errno 1
            os error 13
            os error 1
            operation not permitted
            winerror 5
            permission error
            permission (is)? required
            unauthorized access exception
            access to the path ~ denied
            (file|path|script|directory|folder|program) ~ is not (executable|readable|writable|writeable|accessible)
        """,
        confidence=0.92,
    ),
    Rule(
        name="exists already, says the system",
        code="ALREADY_EXISTS",
        evidence="EEXIST.",
        phrases="""
            file exists
            eexist
            errno 17
            os error 17
            cannot create a file when that file already exists
        """,
    ),
    Rule(
        name="out of handles or memory",
        code="RESOURCE_EXHAUSTED",
        evidence="EMFILE, ENFILE, ENOMEM, EAGAIN and out-of-memory errors of runtimes.",
        phrases="""
            too many open files
            emfile
            enfile
            enomem
            cannot allocate memory
            out of memory
            resource temporarily unavailable
            heap out of memory
            oom killed
            oom command
            (memory|cpu|resource) limit (was)? (exceeded|reached)
        """,
        confidence=0.85,
        retryable=None,
    ),
    Rule(
        name="path or name refused by the system",
        code="INVALID_ARGUMENT",
        evidence="ENAMETOOLONG, EINVAL, ELOOP and embedded null bytes.",
        phrases="""
            file name too long
            enametoolong
            einval
            errno 22
            os error 22
            eloop
            too many levels of symbolic links
            null byte
            null bytes
            embedded null
        """,
    ),
)
