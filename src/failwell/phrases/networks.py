"""Wordings of network stacks, HTTP clients, resolvers and TLS libraries."""

from failwell.phrases.language import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        name="certificate refused",
        code="TLS_VERIFY_FAILED",
        evidence="OpenSSL, Go, Node.js, Java and browsers, when a peer cannot prove who it is.",
        phrases="""
            certificate (verify|verification) failed
            certificate (has)? expired
            certificate is not (yet)? valid
            certificate signed by unknown authority
            (self|self-signed|self signed) ~ certificate
            self signed certificate
            unable to verify the first certificate
            unable to get local issuer certificate
            x509
            cert has expired
            depth zero self signed cert
            err cert (authority invalid|date invalid|common name invalid)
            hostname mismatch
            altnames
            unable to find valid certification path
            ssl handshake (failed|exception)
            tls handshake (failure|failed|error)
            ssl certificate problem
            remote certificate is invalid
            wrong version number
        """,
        confidence=0.9,
    ),
    Rule(
        name="connection refused",
        code="CONNECTION_REFUSED",
        evidence="ECONNREFUSED of every operating system, through Python, Node.js, Go, Rust, Java and browsers.",
        phrases="""
            connection refused
            econnrefused
            errno 111
            errno 61
            os error 111
            err connection refused
            actively refused
            refused (the|to)? connect*
            connection to ~ (was)? refused
            connect call failed
        """,
        unless="""
            refused ~ not (authorized|authorised|authenticated|permitted)
            refused ~ (unauthorized|unauthorised|unauthenticated|forbidden)
            refused ~ (bad|invalid|wrong|incorrect) (username|user name|user|password|credentials|identifier|client id)
        """,
        confidence=0.95,
    ),
    Rule(
        name="host name not resolved for now",
        code="DNS_TEMPORARY",
        evidence="EAI_AGAIN of C libraries, in numbers and words: the resolver asks for another try.",
        phrases="""
            eai again
            dns (failure|error|lookup failed)
            temporary failure in name resolution
            (dns|resolver|name server|nameserver|name resolution) ~ (timed out|timeout|temporar*|try again|servfail)
        """,
        confidence=0.9,
    ),
    Rule(
        name="host name not resolved",
        code="CONNECTION_FAILED",
        evidence="EAI_NONAME in C, Node.js, Go, Rust, Java and browsers: the name is wrong, or the network is down.",
        phrases="""
            enotfound
            getaddrinfo (failed|error|enotfound|eai*)?
            name or service not known
            could not translate host name
            no address associated with hostname
            nodename nor servname
            name resolution (failed|error|failure)
            name resolution
            could not resolve (host|hostname|address|proxy|dns)
            (cannot|failed to|unable to) resolve (host|hostname|address|the host|domain|dns|the domain)
            failed to lookup address
            err name not resolved
            no such host
            host not found
            unknown host (exception)?
            unknownhostexception
            nxdomain
            dns (lookup|resolution|error|query) ~ (failed|failure|error|not found)
            dns error
            server can not be found
            non existent domain
        """,
        confidence=0.9,
        outcome="not_executed",
    ),
    Rule(
        name="connecting took too long",
        code="CONNECT_TIMEOUT",
        evidence="ETIMEDOUT while connecting, HTTP clients' connect timeouts.",
        phrases="""
            (connect|connecting) (timeout|timed out)
            connect* to ~ (timeout|timed out)
            connect connection timed out
            connection timed out connect
            connection attempt timed out
            connect etimedout
            dial ~ (timeout|timed out)
            tls handshake timeout
            err connection timed out
            timeout ~ connecting to
            timed out ~ connecting to
            server selection timed out
            did not properly respond after a period
        """,
        confidence=0.92,
    ),
    Rule(
        name="request timed out",
        code="UPSTREAM_TIMEOUT",
        evidence="HTTP clients and gRPC, when a service behind the server takes too long.",
        phrases="""
            read timed out
            read timeout
            read connection timed out
            connection timed out read failed
            (request|response|upstream|gateway|socket|network|fetch|api|call|http) (has)? timed out
            (request|response|upstream|gateway|socket|network|fetch|http|body|headers) timeout
            timeout ~ (request|requests|fetching|response|reply|answer)
            timed out ~ (requesting|fetching|reading|response|reply|answer|http*)
            (fetching|downloading|requesting) ~ timed out
            timeout of ~ exceeded
            deadline exceeded
            deadline ~ exceeded
            context deadline
            i o timeout
            etimedout
            esockettimedout
            socket timeout (exception)?
            operation timed out
            err timed out
            und err headers timeout
            und err body timeout
            und err connect timeout
            the operation was aborted due to timeout
            (upstream|server|service|backend) (is)? taking too long
        """,
        confidence=0.88,
    ),
    Rule(
        name="connection timed out",
        code="CONNECT_TIMEOUT",
        evidence="ETIMEDOUT in words, which systems also report of connections that were made long ago.",
        phrases="""
            connection timeout
            connection timed out
            errno 110
            os error 110
        """,
        confidence=0.92,
        outcome="unknown",
    ),
    Rule(
        name="connection lost",
        code="CONNECTION_LOST",
        evidence="ECONNRESET, EPIPE and their words in HTTP clients and database drivers.",
        phrases="""
            connection reset
            connection (was|is|has been|already|is already|was already)? (aborted|closed|lost)
            connection (was|is|has been|already|is already|was already)? (dropped|terminated|broken)
            connection to ~ (was)? (lost|closed|terminated)
            econnreset
            econnaborted
            epipe
            broken pipe
            socket hang up
            other side closed
            server disconnected
            peer closed connection
            remote end closed connection
            remote disconnected
            incomplete read
            unexpected eof
            session (is|was|already)? closed
            premature close
            server has gone away
            lost connection to
            server closed the connection
            closed the connection
            connection ~ (already|unexpectedly|prematurely|abruptly) (closed|lost|terminated)
            terminated abnormally
            err connection (reset|closed)
            err empty response
            empty reply from server
            stream was reset
            transport (closed|error|is closing)
        """,
        unless="""
            connection aborted ~ (no such file|permission denied)
            unexpected eof ~ (while|in|at|parsing|line|byte)
            (pars*|yaml|json|xml|toml|syntax|line|lexer) ~ unexpected eof
        """,
        confidence=0.9,
    ),
    Rule(
        name="network unreachable",
        code="CONNECTION_FAILED",
        evidence="ENETUNREACH and EHOSTUNREACH, and HTTP clients that tried every address.",
        phrases="""
            network is unreachable
            enetunreach
            ehostunreach
            host is (unreachable|down)
            no route to host
            host unreachable
            err (internet disconnected|address unreachable|proxy connection failed)
            all connection attempts failed
            upstream connect error ~ reset reason connection failure
            failed to establish a new connection
            new connection error
            tcp connect error
            unable to connect to the remote server
            cannot connect to host
            tunnel connection failed
            could not connect to proxy
        """,
        confidence=0.9,
    ),
    Rule(
        name="network trouble",
        code="CONNECTION_FAILED",
        evidence="HTTP clients that do not say what went wrong on the way: a wrong address would sound the same.",
        phrases="""
            error sending request for url
            max retries exceeded with url
            err network changed
            und err socket
            network error
            (network|connectivity|connection) (problem|problems|issue|issues|failure)
            fetch failed
        """,
        confidence=0.85,
        outcome="unknown",
    ),
    Rule(
        name="redirects in circles",
        code="TOO_MANY_REDIRECTS",
        evidence="HTTP clients that stop following redirects.",
        phrases="""
            too many redirects
            exceeded ~ redirects
            maximum redirect* (reached|exceeded)
            redirect loop
            stopped after ~ redirects
        """,
    ),
)
