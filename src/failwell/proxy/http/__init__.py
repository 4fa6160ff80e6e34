"""The proxy in front of a URL: a gateway that listens, or standard input and output. Everything here needs aiohttp."""
