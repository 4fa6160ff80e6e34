"""Every limit of the proxy: how much it keeps and reads, how often it tries, and how long it waits.

Lengths are in bytes and times in seconds, unless the name says otherwise.
"""

# Calls and sessions.
MAX_PENDING = 4096
"""Requests of a session without an answer; the oldest is forgotten first."""
MAX_ANSWERED_IDS = 4096
"""Ids whose second answer is dropped."""
MAX_SUBSCRIPTIONS = 1024
"""Subscriptions that are repeated after a restart."""
MAX_SESSIONS = 1024
"""Sessions of a gateway; the one that was used least recently is forgotten first."""
MAX_CONNECTIONS = 4096
"""Connections of clients to a gateway; the one that has been idle for longest is closed first."""
MAX_STREAMS, MAX_STREAMS_OF_CLIENT = 1024, 256
"""Streams that clients of a gateway opened for the server's messages, of all and of one."""
MAX_COUNTED_TOOLS = 1024
"""Tools that the summary counts by name; clients choose the names."""
MAX_TOOL_PAGES = 20
"""Pages of `tools/list` that a gateway asks for itself."""
MAX_PINNED_TOOLS = 4096
"""Tools of a session whose annotations are remembered; others promise nothing."""
MAX_KNOWN_HOSTS = 64
"""Pairs of host and origin whose verdict is remembered."""

# Lines and bodies.
MAX_FIRST_LINES = 100
"""Lines that pass before the decoder is loaded."""
MAX_UNREAD_REQUESTS = 256
"""Reads from the client that are kept unread."""
MAX_UNREAD_ANSWERS = 1024
"""Reads and answers that are kept unread before an answer is read at once."""
MAX_UNREAD_LENGTH = 1 << 14
"""Length of a read from the client that is kept unread, or of an answer that is to be reported."""
MAX_UNREPORTED, IDLE_WAIT = 32, 0.001
"""Answers that have passed and are to be reported; how long nothing comes before that is done."""
MAX_LINE = 1 << 26
"""Length of a line over standard input or output. Of a longer one only the ends are kept, to find its id: its call gets
a failure, and all other lines pass."""
MAX_RETRIED_CALL = 1 << 20
"""Length of a call that can be retried."""
MAX_KEPT_CALLS = 1 << 24
"""Length of a call over standard input times the number of pending ones, up to which it is kept until its answer."""
MAX_POSTED_BODY = 1 << 24
"""Length of a posted body, unpacked, or of a line that is posted; a longer one is refused."""
MAX_RATIO = 100
"""How many times its packed length a posted body may unpack to."""
MAX_ANSWER = 1 << 26
"""Length of an answer of a remote server, or of an event in its stream; a longer one is a failure of the call."""
MAX_DECODED = 1 << 22
"""Length of a message that is decoded in full: objects take twenty times as much. A longer call or success passes
unread, a longer list of tools unlearnt; a longer batch is refused over HTTP, and a longer failing answer becomes a
failure without its text."""
MAX_BATCH = 1000
"""Messages in one posted body; a longer batch is refused."""
MAX_HELD, MAX_SMALL_BODY = 1 << 28, 1 << 16
"""Length of all bodies that a gateway holds at the same time; those up to the second length are not counted."""
MAX_LEARNT = 1 << 26
"""Length of the lists of tools that all sessions of a gateway have learnt from."""
MAX_ERROR_BODY = 1 << 20
"""Length of the body of an HTTP error that is read."""
MAX_HEADER = 1 << 16
"""Length of a line in the head of an HTTP message, and of the whole head of a request."""
MAX_REFUSED_INPUT = 1 << 20
"""Length of what is read from a client whose server cannot be started."""
MAX_ERROR_TEXT_CHARACTERS = 100_000
"""Characters of the server's own text in an error; of a longer one, its head and its tail."""
MAX_ORIGINAL_CHARACTERS = 10_000
"""Characters of the server's own text in `_meta`."""
MAX_TOOL_NAME_CHARACTERS = 100
"""Characters of a tool's name in the summary."""

# Attempts.
MAX_RESTARTS, RESTART_WINDOW = 5, 60.0
"""Restarts of a server within so many seconds."""
MAX_RESTART_DELAY = 5.0
MAX_WORKER_DEATHS, WORKER_DEATH_WINDOW = 5, 10.0
"""Workers that die within so many seconds before the gateway ends."""
MAX_REDIRECTS = 5
MAX_RESUMPTIONS = 3
"""Attempts in a row to resume a stream."""

# Waits while a session runs.
CONNECT_TIMEOUT = 30.0
HEAD_TIMEOUT = 30.0
"""How long a client of a gateway may take to send the head of a request, from its first byte or the connection on."""
BODY_TIMEOUT = 120.0
"""How long a client of a gateway may take to send the body of a request."""
READ_TIMEOUT = 120.0
"""How long a client of a gateway may read nothing of an answer."""
LINGER_TIMEOUT = 2.0
"""How long the rest of a request is read that has its answer already, so that its client sees that."""
REACH_TIMEOUT = 1.5
"""How long a gateway waits for the server when it starts."""
HANDSHAKE_TIMEOUT = 10.0
"""How long a restarted server may take to answer `initialize`."""
ENDPOINT_TIMEOUT = 10.0
"""How long a server of the older transport may take to say where to post to."""
TOOL_LIST_TIMEOUT = 30.0
"""How long a gateway's own request for `tools/list` may take."""
MAX_TOOL_LIST_WAIT, MIN_TOOL_LIST_WAIT = 2.0, 0.25
"""How long a call waits for that list."""
MIN_TOOL_LIST_INTERVAL = 5.0
"""How long after a list that a change of the tools led to the next change leads to another one."""
WRITE_TIMEOUT = 0.05
"""How long both directions share a thread while one end does not read."""

# Waits at the end of a session. Hosts close the input, send SIGTERM two seconds later, and kill two seconds after that.
SIGNAL_GRACE = 1.5
"""How long a server may take to end after a signal: together with what follows, less than hosts wait."""
SILENT_GRACE = 1.0
"""How long a server that has closed its output may live on while its client is there."""
FIRST_LINE_WAIT = 0.7
"""How long a server that died at once waits for the client's first request, to answer it."""
LAST_LINES_WAIT = 0.25
"""How long the last lines of a server may take to arrive."""
LAST_ANSWERS_WAIT = 0.25
"""How long a client may take to read the last answers."""
CLOSE_TIMEOUT = 0.2
"""How long a writer may hold the server's input that is to be closed."""
TERMINATION_TIMEOUT = 1.5
"""How long a server may take to end after SIGTERM."""
REFUSAL_WAIT = 1.0
"""How long a client whose server cannot be started may take to send its first request."""
SESSION_END_TIMEOUT = 0.5
"""How long a remote server may take to end a session."""
SHUTDOWN_TIMEOUT = 0.5
"""How long the last responses of a gateway may take."""
LAST_RECORDS_TIMEOUT = 5.0
"""How long a store may take to write the last records."""
