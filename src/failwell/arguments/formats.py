"""String formats in words: what a valid value is, and one to go by."""

from typing import NamedTuple


class Format(NamedTuple):
    """A format's short name, what a valid value is, and an example."""

    label: str
    words: str
    example: str

    @property
    def expected(self) -> str:
        """What to send instead, in words."""
        return f"{self.words} (e.g. {self.example})"


# Every format that jsonschema-rs checks; a test holds each example against it.
FORMATS: dict[str, Format] = {
    "date": Format("date", "a date as YYYY-MM-DD", "2025-01-31"),
    "date-time": Format("date-time", "a date and time with offset, RFC 3339", "2025-01-31T09:30:00Z"),
    "time": Format("time", "a time with offset, RFC 3339", "09:30:00Z"),
    "duration": Format("duration", "an ISO 8601 duration", "P1DT12H"),
    "email": Format("email", "a valid email address", "user@example.com"),
    "idn-email": Format("email", "a valid email address", "user@example.com"),
    "hostname": Format("hostname", "a valid host name", "api.example.com"),
    "idn-hostname": Format("hostname", "a valid host name", "api.example.com"),
    "ipv4": Format("IPv4 address", "four numbers from 0 to 255 joined by dots", "192.0.2.1"),
    "ipv6": Format("IPv6 address", "a valid IPv6 address", "2001:db8::1"),
    "uri": Format("URI", "an absolute URI with its scheme", "https://example.com/path"),
    "uri-reference": Format("URI reference", "a URI or a relative reference", "/path?query=1"),
    "iri": Format("IRI", "an absolute IRI with its scheme", "https://example.com/path"),
    "iri-reference": Format("IRI reference", "an IRI or a relative reference", "/path?query=1"),
    "uri-template": Format("URI template", "a URI template, RFC 6570", "https://example.com/users/{id}"),
    "uuid": Format("UUID", "a valid UUID", "123e4567-e89b-12d3-a456-426614174000"),
    "regex": Format("regular expression", "a valid regular expression", "^[a-z]+$"),
    "json-pointer": Format("JSON pointer", "a JSON pointer, RFC 6901", "/items/0/name"),
    "relative-json-pointer": Format("relative JSON pointer", "a relative JSON pointer", "1/name"),
}


def format_of(name: str) -> Format:
    """Return the words of a format; one nobody described is called by its name."""
    return FORMATS.get(name) or Format(name, f"a valid {name}", "")
