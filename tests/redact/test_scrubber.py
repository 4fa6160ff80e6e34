"""What leaves is free of secrets and unseen characters, bounded, and stays as it is when cleaned again.

The planted secrets are made at run time, so that no scanner takes this file for a leak.
"""

import hashlib
import json
import subprocess
import sys
import time
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failwell.redact import secrets, vendors
from failwell.redact.scrubber import clean, is_secret_name, placeholder, scrub
from failwell.redact.secrets import may_name_a_secret
from tests.strategies import examples

ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
HEX = "0123456789abcdef"
DIGITS = "0123456789"


def body(seed: str, length: int, alphabet: str = ALNUM) -> str:
    """Return *length* characters that look random and are the same on every run."""
    stream = b"".join(hashlib.sha256(f"{seed}/{i}".encode()).digest() for i in range(length // 32 + 1))
    return "".join(alphabet[byte % len(alphabet)] for byte in stream[:length])


def row(name: str, prefix: str, length: int, alphabet: str = ALNUM, suffix: str = "") -> tuple[str, str, str]:
    core = body(name, length, alphabet)
    return name, prefix + core + suffix, core


def dotted(name: str, *lengths: int, prefix: str = "", alphabet: str = ALNUM) -> tuple[str, str, str]:
    core = ".".join(body(f"{name}{i}", length, alphabet) for i, length in enumerate(lengths))
    return name, prefix + core, core


# Secrets that are known by their looks, wherever they stand: name, whole text, the part nobody may see.
TOKENS = [
    row("aws_long_term", "AK" + "IA", 16, UPPER),
    row("aws_session", "AS" + "IA", 16, UPPER),
    *(row(f"github_{kind}", f"gh{kind}_", 36) for kind in "pousr"),
    row("github_fine_grained", "github_" + "pat_", 82),
    *(row(f"gitlab_{kind}", f"gl{kind}-", 20) for kind in ("pat", "dt", "rt", "ptt", "soat", "cbt")),
    *(dotted(f"slack_{kind}", 40, prefix=f"xox{kind}-") for kind in "abprse"),
    row("slack_app", "xapp-1-", 40),
    row("stripe_live", "sk_" + "live_", 24),
    row("stripe_restricted", "rk_" + "live_", 24),
    row("stripe_test", "sk_" + "test_", 24),
    row("stripe_webhook", "whsec_", 32),
    row("openai_old", "sk-", 48),
    row("openai_project", "sk-" + "proj-", 80),
    row("anthropic", "sk-" + "ant-api03-", 90),
    row("google_api", "AI" + "za", 35),
    row("google_oauth", "ya29.", 60),
    row("google_client", "GOC" + "SPX-", 28),
    row("huggingface", "hf_", 34),
    row("npm", "npm_", 36),
    row("pypi", "pypi-" + "AgEI", 80),
    row("rubygems", "rubygems_", 48, HEX),
    dotted("sendgrid", 22, 43, prefix="SG."),
    row("digitalocean", "dop_v1_", 64, HEX),
    row("twilio_key", "SK", 32, HEX),
    row("twilio_account", "AC", 32, HEX),
    row("mailgun", "key-", 32, HEX),
    row("mailchimp", "", 32, HEX, "-us12"),
    row("telegram", body("telegram", 9, "123456789") + ":AA", 33),
    dotted("discord_bot", 23, 6, 38, prefix="M"),
    row("shopify", "shpat_", 32, HEX),
    row("square", "sq0" + "atp-", 22),
    row("databricks", "dapi", 32, HEX),
    row("linear", "lin_api_", 40),
    row("notion_old", "secret_", 43),
    row("notion", "ntn_", 46),
    row("postman", "PMAK-", 24, HEX, "-" + body("pm", 34, HEX)),
    row("vault", "hvs.", 90),
    row("vault_old", "s.", 24),
    row("doppler", "dp.pt.", 43),
    row("age", "AGE-SECRET-KEY-1", 58, UPPER),
    row("fly", "fo1_", 43),
    row("newrelic", "NRAK-", 27, UPPER),
    row("sentry", "sntrys_", 60),
    row("grafana", "glsa_", 32),
    ("terraform", f"{body('t', 14)}.atlasv1.{body('tf', 60)}", body("tf", 60)),
    row("heroku", "HRKU-", 36),
    row("airtable", "pat" + body("at", 14) + ".", 64, HEX),
    row("hubspot", "pat-na1-", 32, HEX),
    row("figma", "figd_", 40),
    row("atlassian", "ATATT3", 60),
    row("docker", "dckr_pat_", 27),
    row("planetscale", "pscale_tkn_", 43),
    row("supabase", "sbp_", 40, HEX),
    row("groq", "gsk_", 52),
    row("xai", "xai-", 80),
    row("perplexity", "pplx-", 48),
    row("replicate", "r8_", 37),
    row("langsmith", "lsv2_pt_", 32, HEX),
    row("tailscale", "tskey-auth-", 30),
    row("cloudflare", "v1.0-", 40, HEX),
    row("facebook", "EAA", 90),
    row("tavily", "tvly-dev-", 32),
    row("azure", "abc8" + "Q~", 34),
    row("artifactory", "AKCp", 69),
    dotted("dynatrace", 24, 64, prefix="dt0c01.", alphabet=UPPER),
    row("pulumi", "pul-", 40, HEX),
    row("sourcegraph", "sgp_", 40, HEX),
    row("onepassword", "ops_ey" + "J", 80),
    row("sonar", "sqp_", 40, HEX),
    row("circleci", "CCIPAT_", 40),
    row("bcrypt", "$2b$12$", 53),
    row("sha512_crypt", "$6$", 60),
    row("argon2", "$argon2id$v=19$m=65536$", 60),
    dotted("jwt", 20, 60, 43, prefix="ey" + "J"),
    dotted("jwt_unsigned", 20, 60, prefix="ey" + "J"),
    ("asana", f"2/{body('as', 16, DIGITS)}/{body('an', 16, DIGITS)}:{body('asana', 32, HEX)}", body("asana", 32, HEX)),
    row("clickup", f"pk_{body('cl', 8, DIGITS)}_", 32, UPPER),
    row("crates", "cio", 32),
    ("harness", f"pat.{body('h1', 22)}.{body('h2', 24, HEX)}.{body('harness', 20)}", body("harness", 20)),
    dotted("infisical", 24, 32, 32, prefix="st.", alphabet=HEX),
    (
        "launchdarkly",
        f"sdk-{body('l1', 8, HEX)}-{body('l2', 4, HEX)}-4{body('l3', 3, HEX)}-{body('ld', 17, HEX)}",
        body("ld", 17, HEX),
    ),
    row("nuget", "oy2", 43, "abcdefghijklmnopqrstuvwxyz0123456789"),
    row("okta", "00", 40),
    row("onepassword_key", "A3-" + body("o1", 6, UPPER) + "-", 11, UPPER, "-ABCDE-FGHIJ-KLMNO"),
    row("paypal", "access_token$" + "production$" + body("pp", 16, HEX) + "$", 32, HEX),
    row("resend", "re_" + body("r1", 8) + "_", 24),
    row("scaleway", "SCW", 17, UPPER),
    dotted("youtrack", 16, 8, 30, prefix="perm:"),
    dotted("zoho", 32, 32, prefix="1000.", alphabet=HEX),
    ("pem_in_base64", "LS0tLS1CRUdJTi" + "BQUklWQVRFIEtFWS0tLS0t" + body("pem64", 80), body("pem64", 80)),
    ("card", "4111 1111 " + "1111 1111", "1111 1111"),
    ("card_amex", "3782" + "822463" + "10005", "2246310005"),
]

CARRIERS = {
    "alone": "{}",
    "sentence": "The upstream call with {} was refused.",
    "first": "{} is not valid here",
    "last": "The service did not accept {}",
    "bracketed": "rejected ({}), try again",
    "listed": "saw {}, {}; stopped",
    "json": '{{"text": "{}", "n": 1}}',
    "repr": "Err('{}', code=3)",
    "path": "GET https://api.example.com/v1/{}/items failed",
    "escaped newline": '{{"log": "line\\n{}\\nnext"}}',
    "tagged": "<error>{}</error>",
    "code": "value `{}` unknown",
    "second line": "first line\n{}\nthird",
}

PW = "Tr0ub4dor"
LONG = body("long", 40)

# Secrets known by the name or the form around them. {s} is the secret.
FORMS = [
    "password={s}",
    "password = {s}",
    "password: {s}",
    "password:{s}",
    "password => '{s}'",
    "password '{s}' was refused",
    'Login failed, password "{s}"',
    'PASSWORD="{s} with spaces"',
    "DB_PASSWORD={s}",
    "export MYSQL_PWD={s}",
    "HOST=a\nSECRET_KEY={s}\nPORT=1",
    "env: A=1\\nDB_PASSWORD={s}\\nB=2",
    "aws_secret_access_key = {s}",
    "AWS_SESSION_TOKEN={s}",
    '{{"password": "{s}"}}',
    '{{"password":"{s}","user":"bob"}}',
    '{{"password": "x\\"{s}"}}',
    '{{"user_password": {s}}}',
    "{{'password': '{s}', 'user': 'bob'}}",
    "{{b'password': b'{s}'}}",
    '"{{\\"client_secret\\": \\"{s}\\"}}"',
    "&quot;password&quot;: &quot;{s}&quot;",
    '{{"refreshToken" : "{s}"}}',
    "Config(host='h', api_key='{s}', port=1)",
    "Config(host=h, api_key={s}, port=1)",
    "connect(user='u', password='''{s}''')",
    "auth=('bob', '{s}')",
    "headers['X-Api-Key'] = '{s}'",
    "user[password]={s}&user[name]=bob",
    "<password>{s}</password>",
    "<ns:clientSecret>{s}</ns:clientSecret>",
    "mysql --password {s} -h host",
    "mysql --password={s} -h host",
    "tool --api-key '{s}'",
    "Command '['tool', '--token', '{s}']' returned 1",
    "curl -u bob:{s} https://h/",
    "curl --user 'bob:{s}' https://h/",
    "machine h login bob password {s}",
    "https://bob:{s}@h.example/x",
    "https://{s}@github.com/o/r.git",
    "redis://:{s}@h:6379/0",
    "postgresql+asyncpg://bob:{s}@h:5432/db?sslmode=require",
    "mysql://bob:{s}/x@h/db",
    "mongodb+srv://bob:{s}#x@h/db",
    "amqp://bob:{s}?x@h//",
    "postgres://bob:x@{s}@h/db",
    "('https://bob:{s}@h', 443)",
    "bob:{s}@tcp(10.0.0.1:3306)/db",
    "next=https%3A%2F%2Fbob%3A{s}%40h%2Fx",
    "next=https%3A%2F%2Fh%2F%3Ftoken%3D{s}%26a%3D1",
    "https://h/x?a=1&sig={s}&se=2030-01-01",
    "https://h/x?key={s}&alt=json",
    "https://h/x?access_token={s}#frag",
    "https://h/x?X-Amz-Signature={s}",
    "https://h/x?X-Amz-Credential={s}%2F20300101",
    "https://h/x?X-Amz-Security-Token={s}",
    "https://h/cb?code={s}0123456789&state=1",
    "grant_type=password&client_secret={s}&scope=a",
    "Server=h;Uid=sa;Pwd={s};Encrypt=yes",
    "Server=h;User Id=sa;Password=a {s};Encrypt=yes",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={s}==;EndpointSuffix=core",
    "Endpoint=sb://h/;SharedAccessKeyName=k;SharedAccessKey={s}=",
    "Authorization: Bearer {s}",
    "Authorization: Basic {s}",
    "authorization: token {s}",
    "Authorization: ApiKey {s}",
    "Authorization: Custom {s}",
    'Authorization: Digest username="bob", response="{s}"',
    "Authorization: AWS4-HMAC-SHA256 Credential=a/b, Signature={s}",
    "Proxy-Authorization: Basic {s}",
    "curl -H 'Authorization: Bearer {s}' https://h",
    'curl -H "Authorization: Custom {s}" https://h',
    '{{"Authorization": "Bearer {s}"}}',
    "{{'authorization': 'Custom {s}'}}",
    "[(b'authorization', b'Custom {s}')]",
    "{{Authorization=[Bearer {s}], Accept=[a]}}",
    "GET / HTTP/1.1\r\nAuthorization: Custom {s}\r\nHost: h",
    "sent Bearer {s} and failed",
    "Cookie: a=1; session={s}",
    "Set-Cookie: sid={s}; Path=/; HttpOnly",
    "{{'Cookie': 'a=1; session={s}'}}",
    "X-Api-Key: {s}",
    "x-auth-token: {s}",
    "Ocp-Apim-Subscription-Key: {s}",
    "sessionid={s}",
    "https://hooks.slack.com/services/T000/B000/{s}",
    "https://discord.com/api/webhooks/123456/{s}",
    "PHPSESSID={s}; a=b",
    "passphrase: {s}",
    "Invalid API key: {s}",
    "the access token: {s}",
    "connection string: {s}",
    "the new_password_confirmation={s} differs",
]

PEM_KINDS = ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "]


def pieces(core: str, size: int = 6) -> list[str]:
    return [core[i : i + size] for i in range(max(1, len(core) - size + 1))]


def leaked(core: str, text: str) -> list[str]:
    return [piece for piece in pieces(core) if piece in text]


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
@pytest.mark.parametrize(("whole", "core"), [row[1:] for row in TOKENS], ids=[row[0] for row in TOKENS])
def test_a_token_leaves_no_piece_behind_and_its_surroundings_stay(whole: str, core: str, carrier: str) -> None:
    out = clean(carrier.format(whole, whole), 2000)

    assert leaked(core, out) == []
    assert placeholder("")[:-1] in out
    assert out.startswith(carrier.partition("{}")[0].replace("{{", "{"))


def test_every_kind_of_token_in_the_table_is_planted_here() -> None:
    found = {scrub(whole).removeprefix("[redacted:").removesuffix("]") for _, whole, _ in TOKENS}

    assert set(vendors.FORMS) - found == set()


IN_FULL = {
    "alnum": ALNUM, "upper": UPPER, "hex": HEX, "uuid": HEX, "lower": "abcdefghijklmnopqrstuvwxyz0123456789",
    "word": ALNUM + "_", "url": ALNUM + "-_", "dots": ALNUM + "-_", "base64": ALNUM,
}  # fmt: skip


@pytest.mark.parametrize("carrier", CARRIERS.values(), ids=CARRIERS)
def test_a_token_of_every_vendor_is_known_by_its_prefix(carrier: str) -> None:
    planted = [
        (prefix, body(prefix, max(shortest, 20), IN_FULL[alphabet]))
        for _, prefixes, alphabet, shortest in vendors.PREFIXES
        for prefix in prefixes.split()
    ]

    out = {prefix: clean(carrier.format(prefix + core, prefix + core), 2000) for prefix, core in planted}

    assert [out[prefix] for prefix, core in planted if leaked(core, out[prefix])] == []


def test_the_table_holds_the_prefixes_of_many_vendors_and_each_once() -> None:
    named = {kind.rpartition("_")[0] for kind in secrets.tokens()}
    prefixes = [(prefix, row[2]) for row in vendors.PREFIXES for prefix in row[1].split()]

    assert len(named) >= 80
    assert len(set(prefixes)) == len(prefixes)


@pytest.mark.parametrize("secret", [PW, LONG], ids=["short", "long"])
@pytest.mark.parametrize("form", FORMS)
def test_a_value_is_known_by_what_stands_around_it(form: str, secret: str) -> None:
    out = clean("Failed. " + form.format(s=secret), 2000)

    assert leaked(secret, out) == []
    assert "[redacted:" in out
    assert out.startswith("Failed. ")


@pytest.mark.parametrize("newline", ["\n", "\\n", "\r\n", "\\r\\n"], ids=repr)
@pytest.mark.parametrize("kind", PEM_KINDS)
@pytest.mark.parametrize("has_end", [True, False], ids=["whole", "cut off"])
def test_a_private_key_goes_with_or_without_its_end(kind: str, newline: str, *, has_end: bool) -> None:
    lines = [body(f"pem{i}", 64) for i in range(8)]
    end = [f"-----END {kind}PRIVATE KEY-----", " is bad"] if has_end else []
    text = newline.join([f"the key -----BEGIN {kind}PRIVATE" + " KEY-----", *lines, *end])

    out = clean(text, 4000)

    assert leaked("".join(lines), out) == []
    assert out.startswith("the key [redacted:private_key]")
    assert out.endswith(" is bad") == has_end


def test_a_pgp_key_block_and_an_encrypted_key_go_with_their_headers() -> None:
    core = body("pgp", 200)
    pgp = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{core}\n-----END PGP PRIVATE KEY BLOCK-----"
    rsa = f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{core}\n-----END RSA PRIVATE KEY-----"

    assert scrub(f"a {pgp} b {rsa} c") == "a [redacted:private_key] b [redacted:private_key] c"


@pytest.mark.parametrize("written", ["{}", "X-{}", "my {}", "{}_1", "{}Value"])
def test_no_text_with_a_secret_name_is_passed_over_unread(written: str) -> None:
    endings = [ending for endings in secrets.SECRET_ENDINGS.values() for ending in endings]
    names = [written.format(name) for name in [*endings, *secrets.SECRET_WORDS]]

    overlooked = [name for name in names if is_secret_name(name) and not may_name_a_secret(f"the {name}: x".lower())]

    assert overlooked == []
    assert any(map(is_secret_name, names))


@pytest.mark.parametrize("name", ["api key", "A.P.I. Key", "to\u212aen", "api\u00e9key", "P-W-D", "Secur\u0130ty code"])
def test_a_secret_name_is_seen_whatever_stands_between_its_letters(name: str) -> None:
    assert may_name_a_secret(f"the {name}: x".lower())


def test_a_text_without_a_secret_name_is_known_at_once() -> None:
    innocent = "Error: no author of 'inside classes' was found, status: 404, code: E_AUTHOR, key: 5"

    assert not may_name_a_secret(innocent.lower())


@pytest.mark.parametrize("newline", ["\n", "\\n"])
def test_the_further_lines_of_a_key_without_a_header_go_with_the_first(newline: str) -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + body("first", 32), *(body(f"line{n}", 64) for n in range(3)), "aB3=="]

    assert scrub(f"bad key: {newline.join(lines)}{newline}is all") == f"bad key: [redacted:private_key]{newline}is all"


def test_what_holds_a_placeholder_is_replaced_as_a_whole() -> None:
    assert scrub("openssl enc -pass pass:w1zardPw7 -in f") == "openssl enc -pass [redacted:password] -in f"


def test_basic_credentials_are_known_without_a_header_but_basic_words_are_not() -> None:
    short = b64encode(b"a:b").decode()

    assert scrub(f"sent Basic {short} there") == "sent Basic [redacted:basic_auth] there"
    assert scrub("Basic auth is off, see Basic plan") == "Basic auth is off, see Basic plan"


def test_the_rest_of_the_message_survives() -> None:
    text = f"GET https://bob:{PW}@h.example/v1?token={LONG}&page=2 gave 401; header Authorization: Bearer {LONG} sent."

    assert clean(text, 500) == (
        "GET https://[redacted:url_credentials]@h.example/v1?token=[redacted:token]&page=2 gave 401; "
        "header Authorization: Bearer [redacted:token] sent."
    )


def test_brackets_around_a_bare_value_stay() -> None:
    assert scrub(f"connect(token={PW}) in [password={PW}]") == (
        "connect(token=[redacted:token]) in [password=[redacted:password]]"
    )


def test_json_stays_json_when_a_quoted_value_goes() -> None:
    text = json.dumps({"password": 'a"b\\', "user": "bob", "nested": {"apiKey": LONG}})

    assert json.loads(scrub(text)) == {
        "password": "[redacted:password]",
        "user": "bob",
        "nested": {"apiKey": "[redacted:api_key]"},
    }


INNOCENT = [
    "The token has expired.",
    "token: expired",
    "Invalid password",
    "Invalid token: expected string, got int",
    "password must be at least 8 characters",
    "password: must be at least 8 characters",
    "password: Field required",
    "api_key: String should have at least 20 characters",
    '{"password": ["This field is required."]}',
    '{"password": "This field is required."}',
    '{"password": {"type": "string", "minLength": 8}}',
    '{"password": null, "token": ""}',
    "password=None",
    "missing fields: ['password', 'token', 'user']",
    "key: value pairs",
    "sort key=asc",
    "primary_key=12, foreign_key=13, public_key=ab",
    "idempotency_key=4f1c9a7e-55f0-4b5e-a2a1-0a7b8f3d9c11",
    "next_page_token=CAUQAA",
    "the next page token: CAUQAA",
    "the primary key: 12ab",
    "max_tokens=4096 and token_count: 5000",
    "progressToken: 17",
    "No row 4f1c9a7e-55f0-4b5e-a2a1-0a7b8f3d9c11",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 not found",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "since 2026-01-31T12:00:00+00:00 and 2026-01-31 12:00:00.123456",
    "/usr/lib/python3.11/site-packages/failwell/secrets.py:12",
    r"C:\Users\bob\token\new.txt",
    "write to user@example.com or mailto:user@example.com",
    "http://host:8080/path/@scope/pkg?x=a@b.c",
    "https://medium.com/@name/post",
    "https://registry.example.com:443/@scope/pkg",
    "git@github.com:org/repo.git and ssh://git@github.com/org/repo",
    "The secretary passed the keyboard to the author",
    "sk-learn, task-123, risk-averse-behaviour-in-2024-markets, SGD 5",
    "desk-of-the-risk-committee-room-1234567890",
    "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
    "Unexpected token: name (foo)",
    'WWW-Authenticate: Bearer realm="example", error="invalid_token"',
    "Bearer token is missing",
    "Authorization: required",
    "Authorization: Bearer token is missing",
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:prod/db-AbCdEf",
    "Expected '-----BEGIN PRIVATE KEY-----' at the start of the file",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "use --token to sign in, or --password <password>",
    "https://h/x?token={token}&a=$TOKEN",
    "password=*** user=bob",
    "docker run -u 1000:1000 image",
    "order 4111111111111112 of 1234567890123456",
    "took 0.4111111111111111 s",
    "https://h/x?code=404&page=2",
    "cursor eyJsYXN0X2lkIjo0MjAsImEiOjF9",
    "error: login failed for user bob",
    "has_password=true, is_secret: yes",
    "price is $2 or $6 or $15",
    "std::token::Kind and Foo::secret::Bar",
    "npm_config_registry is not set",
    "0x1f, 50%, a<b, c>d, x == y",
    "Grüße aus Köln: 5 Äpfel",
    "日本語のメッセージ",
    "line one\nline two\tend",
]


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_is_left_alone(text: str) -> None:
    assert clean(text, 500) == text


SECRET_NAMES = """
password passwd pwd PASSWORD userPassword user_password new_password_confirmation password2 password_hash passphrase
secret client_secret clientSecret clientsecret SECRET_KEY secrets token access_token accessToken accesstoken
refreshToken id_token csrf_token x-auth-token AWS_SESSION_TOKEN api_key apikey apiKey API-Key x-api-key X-Api-Key
authorization Authorization proxy-authorization auth cookie set-cookie session_id sessionid PHPSESSID JSESSIONID
connect.sid private_key privateKey ssh_key ssh-key credentials credential connection_string connectionString dsn
signature X-Amz-Signature X-Amz-Credential sas sig otp cvv cvc card_number cardNumber ssn aws_secret_access_key
aws_access_key_id account_key SharedAccessKey encryption_key jwt --password db.password
"""

INNOCENT_NAMES = """
token_count max_tokens tokens tokenizer token_type primary_key foreign_key key keys keyboard author authority authors
session session_count passenger passed passport secretary next_page_token nextPageToken pageToken cursor
continuation_token progressToken idempotency_key sort_key public_key publicKey partition_key kansas oauth_provider
password_policy password_length has_password is_secret requiresToken pin pinned signatures_count design compass
cookie_policy monkey id name user email
"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_a_name_tells_that_its_value_is_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", [*INNOCENT_NAMES.split(), "", "…", "密码"])
def test_a_name_that_only_resembles_a_secret_is_innocent(name: str) -> None:
    assert not is_secret_name(name)


UNSEEN = [
    *("\x00", "\x07", "\x1b", "\x7f", "\x85", "\x9b", "\u00ad", "\u034f", "\u061c", "\u115f", "\u180e", "\u200b"),
    *("\u200d", "\u200e", "\u200f", "\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\u3164", "\ufe0f", "\ufeff"),
    *("\ufffe", "\uffff", "\ufdd0", "\ud800", "\udfff", "\U000e0041", "\U000e0100", "\U0010ffff", "\U0001fffe"),
]


@pytest.mark.parametrize("char", UNSEEN, ids=lambda char: f"U+{ord(char):04X}")
def test_an_unseen_character_is_dropped_and_hides_no_secret(char: str) -> None:
    core = body("hidden", 36)

    assert clean(f"pay{char}load", 100) == "payload"
    assert clean(f"got ghp_{char}{core[:9]}{char}{core[9:]}", 100) == "got [redacted:github_token]"
    assert clean(f"got ghp_{core[:20]}{char}{core[20:]}", 100) == "got [redacted:github_token]"
    assert clean(f"pass{char}word={PW}", 100) == "password=[redacted:password]"


@pytest.mark.parametrize(
    "sequence",
    [
        *("\x1b[31m", "\x1b[0;1;38;5;200m", "\x1b[2K", "\x9b31m", "\x1b(B", "\x1bc"),
        *("\x1b]0;title\x07", "\x1b]8;;https://evil.example\x1b\\", "\x1bPdata\x1b\\", "\x9dtitle\x9c"),
    ],
    ids=repr,
)
def test_an_escape_sequence_is_dropped_as_a_whole(sequence: str) -> None:
    assert clean(f"red{sequence} alert", 100) == "red alert"


def test_line_breaks_become_plain_ones_and_tabs_stay() -> None:
    assert clean("a\r\nb\rc\n\td\u2028e\u2029f", 100) == "a\nb\nc\n\td e f"


def test_an_unfinished_escape_sequence_loses_only_its_start() -> None:
    assert clean("a \x1b]0;title goes on", 100) == "a 0;title goes on"


def test_a_long_text_ends_with_a_mark_within_the_limit() -> None:
    assert clean("abcdefghij", 10) == "abcdefghij"
    assert clean("abcdefghijk", 10) == "abcdefghi…"
    assert clean("abcdefgh ijk", 10) == "abcdefgh…"
    assert clean("x" * 100_000, 10) == "xxxxxxxxx…"
    assert clean("😀" * 20, 4) == "😀😀😀…"
    assert clean("abc", 1) == "…"
    assert clean("abc", 0) == ""


@pytest.mark.parametrize("limit", range(1, 60))
def test_a_cut_never_splits_a_placeholder(limit: int) -> None:
    out = clean(f"the password={PW} and token={LONG} are wrong", limit)

    assert len(out) <= limit
    assert out.count("[") == out.count("]") == out.count("[redacted:")
    assert leaked(PW, out) == leaked(LONG, out) == []


@pytest.mark.parametrize("padding", range(3))
@pytest.mark.parametrize("filler", ["\u200b", f"password={'x' * 400} "], ids=["unseen", "redacted"])
def test_a_secret_cut_by_the_working_bound_does_not_show_its_half(filler: str, padding: int) -> None:
    limit = 100
    core = body("half", 90)

    for shift in range(0, 100, 5):
        prefix = (filler * 1000)[: 4 * limit + 512 - shift - padding]
        out = clean(f"{prefix} sk-ant-{core}", limit)

        assert leaked(core, out) == [], shift
        assert len(out) <= limit


FRAGMENTS = [
    *("password", "token", "Authorization", "Cookie", "Bearer ", "Basic ", "--", "-u ", "login ", "secret_", "key"),
    *("=", ":", ": ", "://", "@", "&", "?", ";", ",", " ", "\n", "\t", "'", '"', "\\", "\\n", '\\"', "<", ">", "</"),
    *("[redacted:", "[redacted:token]", "]", "[", "(", ")", "{", "}", "…", "%3D", "%40", "%3A%2F%2F", "&quot;", "$"),
    *("sk-", "ghp_", "ey" + "J", ".", "-----BEGIN PRIVATE KEY-----", "-----END ", "-----", "MII", "$2b$12$", "s."),
    *("the password is ", "API key provided: ", "mysql -p", "IDENTIFIED BY '", "session_id=", "KEY=", "pass ", "<key>"),
    *(
        "insert into a (password) values (",
        "'a1b2c3d4'",
        "a1b2c3d4e5f6g7h8",
        "a/b@c:1521/d",
        "order ",
        "kty",
        "MIIEowIBAAKC",
    ),
    *("4111", "4111111111111111", "1111 ", "12345678:A", "hooks.slack.com/services/", "abc", "x1", "must", "the"),
    *("\u200b", "\x1b[", "\x1b]", "\x07", "\u202e", "\ud800", "😀", "é", "\u2028", "\r", "A1b2C3d4E5f6", "unexpected "),
]

dangerous = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=3)), max_size=24).map("".join)


@settings(max_examples=examples(3))
@given(dangerous, st.integers(1, 120))
def test_cleaning_twice_is_cleaning_once(text: str, limit: int) -> None:
    once = clean(text, limit)

    assert clean(once, limit) == once
    assert len(once) <= limit


@settings(max_examples=examples(1.5))
@given(dangerous, st.integers(1, 60), st.integers(0, 60))
def test_what_was_cut_shorter_later_is_stable_at_every_limit(text: str, small: int, more: int) -> None:
    out = clean(clean(text, small + more), small)

    assert clean(out, small) == out
    assert clean(out, small + more) == out


@settings(max_examples=examples(1.5))
@given(dangerous, st.sampled_from([token[1:] for token in TOKENS]), dangerous)
def test_no_surroundings_make_a_token_visible(before: str, token: tuple[str, str], after: str) -> None:
    whole, core = token

    assert leaked(core, clean(f"{before} {whole} {after}", 4000)) == []


HOSTILE = [
    *("sk-", "a@", "://", "://a:", "://a:@", "password=", 'password="', "password: the ", "Cookie: the ", "token 'a"),
    *("-----BEGIN ", "-----BEGIN PRIVATE KEY-----\nMII", "ey" + "J", "ey" + "J-", "A1b2", '"', "'", "\\", '\\"'),
    *("a=b ", "--a ", "-u a,", "login ", "Bearer ", "$6$", "4111 ", "<password>", "\x1b]", "[redacted:", "%3A%2F%2F"),
    ":a@tcp(",
    # Prose, names and layouts.
    *(
        "password is ",
        "API key provided: ",
        "password for bob ",
        "password a1",
        "key ",
        "token:\n a",
        "password: |\n a",
    ),
    *(
        "passwordpassword",
        "password.",
        "password-",
        "session_id=a1b2c3d4",
        "MY_KEY=a1b2c3d4e5",
        "password|a1 ",
        "pass ",
    ),
    *(
        "name=password,value=",
        'name="password" ',
        "<key>password</key>",
        '<password a="">a',
        "Duplicate entry 'a",
        "</",
    ),
    *(
        "password\uff1a",
        "password\u00a0",
        "password=os[",
        "password=your_",
        "secret: a_b_",
        "password=xxxxxx",
        "**key:** ",
    ),
    # SQL, Oracle, command lines.
    *(
        "insert into a (password) values (",
        "insert into a (",
        "insert into a (password) values ('a',",
        "insert into a (b, password) values (1, 'a'), (",
        "(1, 'a,b'), (f(1), 'c'), ",
        "identified by ",
    ),
    *("(password) values (?)] [parameters: ((", "a/b@", "a/b@c:1521/", "a:bcd@", "ORA-00001 ", "thin:a/"),
    *(
        "mysql ",
        "mysql -",
        " -p",
        " -c a -w ",
        "sshpass -p",
        "login -u a ",
        "curl -u",
        " -u a -p ",
        "echo a |",
        "htpasswd -b ",
        "USER a PASS",
    ),
    # Keys and tokens.
    *(
        '{"kty":"d":"',
        "MIIEowIBAAKC",
        "LS0tLS1CRUdJTi",
        "[redacted:private_key] ",
        "live_",
        "test_",
        "pat.",
        "1000.",
        "00",
    ),
    *(
        "aaaaaaaaaaaaaaa:",
        "a1b2c3d4e5f6a7b8:",
        "api_live.",
        "access_token$production$",
        "perm:",
        "A3-",
        "re_",
        "2/1234567890123456/",
        "sk-a1-",
        "aA0",
        "a.b-c_",
    ),
]


def test_passwords_go_from_plain_rows_and_from_rows_with_quotes_and_calls() -> None:
    rows = "(1, '{}', 'a'), (2, '{}', 'b'), (lower('x'), N'{}', 'c'), (4,\"{}\",'d') , (5, crypt('{}', 8), 'e')"
    statement = f"insert into users (id, password, name) values {rows}; commit"

    safe = scrub(statement.format("kilo42x", "li,ma42", "mike42x", "nov42x", "oscar42x"))

    assert safe == statement.format(*["[redacted:password]"] * 5)


@pytest.mark.parametrize("between", [" ", " -v " * 40])
def test_a_flag_is_found_behind_its_command_and_not_behind_others(between: str) -> None:
    assert scrub(f"cc -c a.c && mysql{between}-pkilo42x -w") == f"cc -c a.c && mysql{between}-p[redacted:password] -w"
    assert scrub(f"cc{between}-pkilo42x -c a.c") == f"cc{between}-pkilo42x -c a.c"


def seconds(text: str) -> float:
    def once() -> float:
        start = time.process_time()
        clean(text, len(text))
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("fragment", HOSTILE)
def test_hostile_text_takes_time_in_proportion_to_its_length(fragment: str) -> None:
    short, long = (fragment * (size // len(fragment)) for size in (16_000, 128_000))

    # Eight times the length: 8 if linear, 64 if quadratic. The addend keeps the clock's grain out of it.
    assert seconds(long) < 20 * (seconds(short) + 0.002)


def test_importing_compiles_no_pattern() -> None:
    script = (
        "import re, sys, failwell\n"
        "for name in ('redact', 'secrets'): sys.modules.pop(f'failwell.{name}', None)\n"
        "re.compile = None\n"
        "import failwell.redact.scrubber"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
