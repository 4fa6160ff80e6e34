"""What secrets look like: names of fields that announce one, prefixes of tokens, shapes in text.

Tables only, which the scrubber reads. Every pattern must take linear time on hostile text, so each one either

- cannot fail once its unbounded part has begun (the part is possessive and nothing must follow it), or
- stops that part at its own first characters, or
- has a bound on every repeat.
"""

import re
from functools import cache, lru_cache
from typing import Final, NamedTuple

# A field is secret if its name, lower-cased and with everything but letters and digits removed, ends like this.
SECRET_ENDINGS: Final = {
    "password": ("password", "passwords", "passwd", "passwort", "passphrase", "passcode", "pwd", "dbpass", "userpass"),
    "token": ("token", "accesstokens", "refreshtokens", "authtokens", "apitokens", "bearer"),
    "api_key": ("apikey", "apikeys", "accesskey", "accesskeyid", "secretkey", "secretkeybase", "accountkey"),
    "key": (
        *("privatekey", "signingkey", "encryptionkey", "masterkey", "sharedkey", "authkey", "sshkey", "servicekey"),
        *("sessionkey", "deploykey", "hmackey", "licensekey", "subscriptionkey", "functionskey", "storagekey"),
    ),
    "secret": ("secret", "secrets", "webhookurl"),
    "authorization": ("authorization",),
    "cookie": ("cookie", "cookies"),
    "session": ("sessionid", "sessid", "connectsid"),
    "credentials": ("credential", "credentials", "creds"),
    "connection_string": ("connectionstring", "connstr"),
    "signature": ("signature",),
    "card_number": ("cardnumber", "creditcard", "ccnumber", "cardnum"),
    "security_code": ("securitycode", "pincode", "cardpin", "userpin"),
    "ssn": ("socialsecuritynumber", "socialsecurity"),
}

# Short words that end innocent names too ("kansas" ends in "sas"): they count only as the last whole word.
SECRET_WORDS: Final = {
    "auth": "authorization",
    "jwt": "token",
    "sig": "signature",
    "sas": "signature",
    "psk": "key",
    "dsn": "connection_string",
    "otp": "security_code",
    "totp": "security_code",
    "cvv": "security_code",
    "cvc": "security_code",
    "ssn": "ssn",
}

# Names that end like a secret and are none. A page token says where a listing goes on; an agent needs it.
INNOCENT_ENDINGS: Final = (
    *("pagetoken", "nexttoken", "continuationtoken", "resumetoken", "synctoken", "deltatoken", "skiptoken"),
    *("progresstoken", "cancellationtoken", "canceltoken", "cursortoken", "offsettoken", "idempotencytoken"),
    *("stoptoken", "eostoken", "bostoken", "padtoken", "unktoken", "masktoken", "septoken", "clstoken"),
    *("starttoken", "endtoken", "firsttoken", "lasttoken", "unexpectedtoken", "pertoken"),
    *("functionsignature", "methodsignature", "toolsignature", "typesignature", "callsignature"),
)

# First words that turn the name into a question about the secret: has_password, requires_token.
INNOCENT_STARTS: Final = ("is", "has", "needs", "require", "requires", "no", "allow", "show", "use")

# Last words that leave a secret name secret: password_hash, tokenValue, new_password_confirmation.
NEUTRAL_ENDINGS: Final = (
    *("value", "hash", "digest", "confirmation", "confirm", "again", "repeat", "string", "header"),
    *("base64", "raw", "plaintext", "plain", "old", "new", "prod", "test", "dev", "staging", "basic", "code"),
)

# Parameters that are secret only in a URL's query, with the shortest value that counts: ?code=404 is no OAuth code.
QUERY_NAMES: Final = {"key": 1, "code": 16, "sid": 16}

# Words that begin a statement about a field where its value would stand ("password: must be …", "token: expired").
_PROSE = """
a an and any are argument array at authentication bad blank boolean bytes can cannot characters compared contains
denied did do does empty error expected expired expires extra failed field flag for found from has have header in
incorrect input int integer invalid is it items key list long malformed match matches may mismatch missing must need
needed needs no not null number object of on only option optional or parameter please provided rejected required
revoked scheme see short should str string than that the this to token tokens too type unauthorized unknown
unrecognised unrecognized unset unsupported valid value was were when which will with wrong you your
"""
PROSE: Final = frozenset(_PROSE.split())

# Authorization schemes followed by exactly one word. After any other scheme the whole rest of the line is secret.
SIMPLE_SCHEMES: Final = "bearer|basic|token|api-?key|key|negotiate|ntlm|jwt|ssws|geniekey|splunk|bot"


class Shape(NamedTuple):
    """One look of a secret in running text; its first group stays before the placeholder, its second behind."""

    kind: str
    gates: tuple[str, ...]
    """The pattern cannot match a text that holds none of these."""
    pattern: str


# Applied from top to bottom, before names and values are looked at.
SHAPES: Final = (
    # Key material must follow, so that a sentence may name the header line. Without an END line the rest is taken.
    Shape(
        "private_key",
        ("-----BEGIN ",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"""(?=(?:[\s"',+]|\\+[nr])*+(?:M[A-Z]|b3B|l[A-Z]|[A-Za-z0-9+/=]{16}|[A-Z][A-Za-z-]{2,20}:))"""
        r"[^-]*+(?:-(?!----)[^-]*+)*+(?:-----END [^-\n]{0,60}-----|[\s\S]*+)",
    ),
    # First what stands before the last @ of the authority. Then passwords with / ? # in them, told from host:port.
    Shape("url_credentials", ("@",), r"""(://)(?!\[redacted:\w+\]@|git@|@)(?:[^\s/?#"'<>`@]*+(@))++"""),
    Shape(
        "url_credentials",
        ("@",),
        r"""(://)(?!\[redacted:\w+\]@)[^\s/?#@:"'<>`]*+:(?!\d{1,5}(?![\w.~!$&*+=%@-]))"""
        r"""(?:(?:[^\s"'<>`@:]|:(?!//))*+(@))++""",
    ),
    Shape(
        "url_credentials",
        ("%40",),
        r"""(%3[Aa]%2[Ff]%2[Ff])(?!\[redacted)(?:[^\s&"'%/]|%(?!40|2[Ff]))*+(%40)""",
    ),
    Shape("url_credentials", ("@",), r"""(:)[^\s@:"'\]]{1,128}+(@)(?=(?:tcp|unix)\()"""),
    Shape(
        "webhook",
        ("hook",),
        r"(hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/"
        r"|webhook\.office\.com/webhookb2/)[\w/@.+-]{6,}+",
    ),
    Shape(
        "password",
        ("-u", "-U"),
        r"""((?<![\w-])(?:-[uU]|--user|--proxy-user)["',=\s]{1,4})"""
        r"""(?!\d+:\d+(?!\w)|\[redacted)[^\s:"',=/-][^\s:"',=/]{0,127}+:(?!//)[^\s"']++""",
    ),
    Shape("password", ("login",), r"(\blogin\s{1,4}\S{1,128}\s{1,4}password\s{1,4})(?!\[redacted|…)\S++"),
    Shape(
        "token",
        ("earer", "EARER"),
        r"(\b(?:Bearer|BEARER|bearer(?=\s{1,4}\S{0,40}\d))\s{1,4})"
        rf"""(?!(?i:{"|".join(sorted(PROSE))}|auth|realm)(?![\w~+/-])|[\w-]+=["'\w])[\w.~+/=-]++""",
    ),
    Shape("basic_auth", ("asic ", "ASIC "), r"(\b(?i:basic) {1,4})[A-Za-z0-9+/]{4,512}+={0,2}"),
    Shape(
        "password_hash",
        ("$",),
        r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{8,}+|\$(?:[1567y]|gy|md5|sha1|apr1)\$[./A-Za-z0-9$=,]{8,}+"
        r"|\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,16})\$[\w./$=,+-]{8,}+"
        r"|\b(?:pbkdf2_sha\d{1,3}|scrypt|bcrypt_sha256)\$[\w./$=,+-]{8,}+",
    ),
    Shape(
        "card_number",
        tuple("23456"),
        # The first digit is looked at before what stands before it: to search for a set of characters is fast.
        r"[2-6](?:(?<![\w.-][2-6])|(?<=\\[nrt][2-6]))(?:(?:(?<=4)\d\d\d|(?<=5)[1-5]\d\d|(?<=2)[2-7]\d\d|(?<=6)(?:011|5\d\d))"
        r"(?:[ -]?\d{4}){3}|(?<=3)[47]\d\d[ -]?\d{6}[ -]?\d{5})(?![\w-])",
    ),
)

_JWT = r"eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+){0,3}"

# Tokens that tell by themselves whose they are. None may begin in the middle of a word.
TOKENS: Final = {
    "jwt": rf"(?<![_-]){_JWT}|sk\.{_JWT}",
    "aws_key_id": r"A(?:KI|SI|BI|CC)A[A-Z0-9]{12,}+",
    "github_token": r"gh[pousr]_[A-Za-z0-9]{12,}+|github_pat_\w{12,}+",
    "gitlab_token": r"gl(?:pat|dt|rt|rtr|ptt|soat|cbt|ft|imt|agent|oas|ffct)-[\w.-]{12,}+|GR1348941[\w-]{12,}+",
    "slack_token": r"xox[a-z]-[\w-]{10,}+|xoxe\.xox[bp]-[\w-]{10,}+|xapp-[\w-]{10,}+",
    "stripe_key": r"[sr]k_(?:live|test|prod)_\w{10,}+|whsec_[\w+/=]{12,}+",
    "anthropic_key": r"sk-ant-[\w-]{12,}+",
    "openai_key": r"sk-(?=[\w-]{0,40}\d)[\w-]{20,}+",
    "google_key": r"AIza[\w-]{20,}+|ya29\.[\w.-]{16,}+|GOCSPX-[\w-]{16,}+|1//0[\w-]{20,}+",
    "huggingface_token": r"hf_[A-Za-z0-9]{16,}+",
    "npm_token": r"npm_[A-Za-z0-9]{20,}+",
    "pypi_token": r"pypi-(?=[\w-]{0,60}[A-Z])[\w-]{16,}+",
    "rubygems_token": r"rubygems_[0-9a-f]{20,}+",
    "sendgrid_key": r"SG\.[\w-]{16,}+(?:\.[\w-]*+)?",
    "digitalocean_token": r"do[opr]_v1_[0-9a-f]{16,}+",
    "twilio_key": r"(?:SK|AC)[0-9a-f]{32}(?![0-9A-Za-z])",
    "mailgun_key": r"key-[0-9a-z]{32}",
    "mailchimp_key": r"[0-9a-f]{32}-us\d{1,2}",
    "telegram_token": r"(?:bot)?\d{8,10}:A[\w-]{30,}+",
    "discord_token": r"[MNO][\w-]{22,28}\.[\w-]{6,7}\.[\w-]{24,}+",
    "shopify_token": r"shp(?:at|ca|pa|ss)_[0-9A-Za-z]{16,}+",
    "square_token": r"sq0(?:atp|csp|idp)-[\w-]{16,}+|EAAA[\w-]{40,}+",
    "databricks_token": r"dapi[0-9a-f]{32}(?:-\d)?",
    "linear_key": r"lin_(?:api|oauth)_[A-Za-z0-9]{16,}+",
    "notion_token": r"secret_[A-Za-z0-9]{32,}+|ntn_[A-Za-z0-9]{20,}+",
    "postman_key": r"PMAK-[0-9A-Za-z-]{16,}+",
    "vault_token": r"hv[sbr]\.[\w-]{16,}+|s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?![\w.(])",
    "doppler_token": r"dp\.(?:pt|st|ct|scim|audit|sa)\.[\w.-]{16,}+",
    "age_key": r"AGE-SECRET-KEY-1[0-9A-Z]{12,}+",
    "fly_token": r"fo1_[\w-]{16,}+|fm[12][ar]?_[\w+/=-]{16,}+",
    "newrelic_key": r"NR(?:AK|JS|II|RA)-[\w-]{12,}+",
    "sentry_token": r"sntry[su]_[\w+/=-]{16,}+",
    "grafana_token": r"gl(?:sa|c)_[\w+/=]{16,}+",
    "terraform_token": r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{16,}+",
    "heroku_key": r"HRKU-[\w-]{16,}+",
    "cloudflare_key": r"v1\.0-[0-9a-f]{20,}+[\w-]*+",
    "airtable_token": r"pat[A-Za-z0-9]{14}\.[0-9a-f]{16,}+",
    "hubspot_token": r"pat-(?:na|eu)\d-[0-9a-f-]{16,}+",
    "facebook_token": r"EAA[A-Za-z0-9]{40,}+",
    "figma_token": r"figd_[\w-]{16,}+",
    "atlassian_token": r"AT[AC]TT3[\w=-]{16,}+|ATBB\w{20,}+",
    "docker_token": r"dckr_[po]at_[\w-]{12,}+",
    "planetscale_token": r"pscale_(?:tkn|pw|oauth)_[\w.-]{12,}+",
    "supabase_key": r"sbp_[0-9a-f]{20,}+|sb_secret_[\w-]{12,}+",
    "groq_key": r"gsk_[A-Za-z0-9]{20,}+",
    "xai_key": r"xai-[A-Za-z0-9]{20,}+",
    "perplexity_key": r"pplx-[A-Za-z0-9]{20,}+",
    "replicate_token": r"r8_[A-Za-z0-9]{20,}+",
    "langsmith_key": r"lsv2_(?:pt|sk)_\w{16,}+",
    "tavily_key": r"tvly-(?=[\w-]{0,40}\d)[\w-]{16,}+",
    "azure_secret": r"[A-Za-z0-9][\w.~-]{2}8Q~[\w.~-]{20,}+",
    "artifactory_key": r"AKCp\w{20,}+",
    "dynatrace_token": r"dt0[cs]\d\d\.[A-Z0-9]{20,}+[\w.]*+",
    "pulumi_token": r"pul-[0-9a-f]{20,}+",
    "sourcegraph_token": r"sgp_\w{20,}+",
    "onepassword_token": r"ops_eyJ[\w+/=-]{16,}+",
    "tailscale_key": r"tskey-[\w-]{12,}+",
    "sonar_token": r"sq[pua]_[0-9a-f]{20,}+",
    "circleci_token": r"CCI[A-Z]{3}_\w{12,}+",
}

# A name, then what separates it from its value: a sign, the space after a --flag, a <tag>, a space before a quote.
# The twelve digits are the account in an AWS ARN, where "secret:" is followed by a name.
PAIR: Final = (
    r"(?:(?P<escape>%[0-9A-Fa-f]{2}|\\[nrt])|(?<![\w.-])(?<!\d{12}:))"
    r"""(?:(?P<flag>--?[A-Za-z][\w-]*+)["']?,?[ \t]{1,4}|(?P<name>[\w.-]++)(?:"""
    r"""(?P<sign>(?:\\*+["']|&quot;|&\#3[49];)?+\]?+[ \t]{0,8}+(?::=|=>|={1,3}+|:(?!//|:)|%3[Dd]))"""
    r"""|(?P<tag>>)(?=[^<>\n]{1,512}</)|(?P<item>["'],)(?=[ \t]?[bu]?["'])|[ \t](?=[bu]?["'])))"""
)

# Ways to write a value, one group each. QUOTED opens the alternatives, one of the three below it closes them.
QUOTED: Final = (
    r"""(?:\s{0,20}(?=[bBuUrR]{0,2}["'\\&])|[ \t]{0,8})(?:[bBuUrR]{1,2}(?=["']))?(?:"""
    r"""\\+"((?:[^"\\\n]|\\++(?!"))*+)|\\+'((?:[^'\\\n]|\\++(?!'))*+)|\"{3}([^"]*+)|'{3}([^']*+)"""
    r"""|"((?:[^"\\\n]|\\.)*+)|'((?:[^'\\\n]|\\.)*+)|(?:&quot;|&\#3[49];)((?:[^&\n]|&(?!quot;|\#3[49];))*+)"""
)
QUOTED_WAYS: Final = 7
# A word, up to where a list or a query goes on.
BARE: Final = (
    r"""|\(((?=[bu]?["'])[^)\n]*+)|((?!\[\s?["'\]]|\{\s?(?:["'}]|\w+:))"""
    r"""(?:[^\s"'`&;,<\\]|<(?!/)|["'`](?=\w)|[&;,](?!\s|$|["']|[\w. -]{1,40}=)"""
    r"""|\\(?!["']|[nrt](?:\W|$|[\w.-]{1,40}[=:])))++))"""
)
# A field of a connection string, and a header: one word after a simple scheme, else the rest of the line or quote.
FIELD: Final = r"""|([^;"'\n]++))"""
LINE: Final = (
    rf"""|\[?(?!redacted)((?i:{SIMPLE_SCHEMES})[ \t]++[^\s"'`,;]++)"""
    r"""|((?:[^\n\\QUOTE]|\\(?![nrQUOTE]))++))"""
)
FIRST_WORD: Final = rf"[ \t]{{0,8}}(?:(?i:{SIMPLE_SCHEMES})[ \t]{{1,4}})?+([A-Za-z]{{1,20}}+)[.,;:!?)…]{{0,4}}(?=\s|$)"
TAGGED: Final = r"([^<>\n]{1,512})"

# Values that are none: already redacted or cut, masked, a variable to fill in, nothing.
INNOCENT_VALUE: Final = (
    rf"(?:(?i:{SIMPLE_SCHEMES})[ \t]+)?\[redacted(?::\w+)?\][)\]}}.,:;!?…]*"
    r"|(?:…|\*{3,}|\.{3}|<[^<>]*>|\$\{?[A-Z_][A-Z0-9_]*\}?|\{\w*\}|%\(\w+\)s"
    r"|(?i:true|false|null|none|nil|undefined))[)\]}.,:;!?…]*"
)


_KIND_OF_ENDING: Final = {ending: kind for kind, endings in SECRET_ENDINGS.items() for ending in endings}
_ENDINGS: Final = tuple(_KIND_OF_ENDING)


def is_secret_name(name: str) -> bool:
    """Tell whether a field, argument or header of this *name* holds a secret."""
    return kind_of_name(name[-80:]) is not None


@lru_cache(maxsize=1024)
def kind_of_name(name: str) -> str | None:
    """Return the kind of secret that a *name* announces, or None."""
    flat = _secret_name_pattern(r"[^a-z0-9]++").sub("", name.lower()).rstrip("0123456789")
    for _ in range(3):
        if flat.endswith(INNOCENT_ENDINGS):
            return None
        if flat.endswith(_ENDINGS):
            asks = _secret_name_pattern(rf"[\W_]*(?:{'|'.join(INNOCENT_STARTS)})(?=[A-Z\W_])").match(name)
            return None if asks else next(kind for ending, kind in _KIND_OF_ENDING.items() if flat.endswith(ending))
        shorter = next((flat.removesuffix(ending) for ending in NEUTRAL_ENDINGS if flat.endswith(ending)), flat)
        if shorter == flat:
            break
        flat = shorter
    words = _secret_name_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall(name)
    return SECRET_WORDS.get(words[-1].lower()) if words else None


# What most names have in common, so that most texts are told by a few looks to hold none of them.
_ROOTS: Final = ("key", "token", "secret", "pass", "sess", "card", "cred", "conn", "cookie", "security", "pin")
_NOT_IN_A_FLAT_NAME: Final = bytes(set(range(128)) - set(b"abcdefghijklmnopqrstuvwxyz0123456789"))


@cache
def _by_root() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the endings of secret names by a part of theirs that few texts hold."""
    found: dict[str, list[str]] = {}
    for ending in _ENDINGS:
        root = next((root for root in _ROOTS if root in ending), ending)
        found.setdefault(root, []).append(ending)
    return tuple((root, tuple(endings)) for root, endings in found.items())


@cache
def _last_words() -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(SECRET_WORDS)})(?![a-z])")


@cache
def _parts() -> re.Pattern[str]:
    """Return what finds a part of any secret name. Grouped by first letter: that is twice as fast."""
    found: dict[str, list[str]] = {}
    for part in (*(root for root, _ in _by_root()), *SECRET_WORDS):
        found.setdefault(part[0], []).append(part[1:])
    return re.compile("|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in found.items()))


def may_name_a_secret(text: str) -> bool:
    """Tell whether any name in a *text* can be secret; False is certain, True may be an alarm for nothing."""
    low = text.lower()
    if ("?" in low or "&" in low or "%" in low) and any(name in low for name in QUERY_NAMES):
        return True
    # A name may be written with anything between its letters: API-Key, api_key, "api key".
    flat = low.encode("ascii", "ignore").translate(None, _NOT_IN_A_FLAT_NAME).decode()
    if not _parts().search(flat):
        return False
    if any(word in low for word in SECRET_WORDS) and _last_words().search(low):
        return True
    return any(root in flat and any(ending in flat for ending in endings) for root, endings in _by_root())


@cache
def _secret_name_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
