"""What secrets look like: the names of secret fields, prefixes of tokens, and patterns in text.

Tables only, which the scrubber reads. Every pattern must take linear time on hostile text, so each one either

- cannot fail once its unbounded part has begun (the part is possessive and nothing must follow it), or
- stops that part at its own first characters, or
- has a bound on every repeat.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, NamedTuple

from failwell.redact.secret_values import PROSE, SIMPLE_SCHEMES
from failwell.redact.vendors import ALPHABETS, FORMS, PREFIXES


def any_of(words: Iterable[str], behind: str = "") -> str:
    """Return what finds any of these words. Grouped by first letter: that is twice as fast."""
    found: dict[str, list[str]] = {}
    for word in sorted(set(words), reverse=True):
        found.setdefault(word[0], []).append(word[1:])
    return "|".join(f"{letter}(?:{'|'.join(rest)}){behind}" for letter, rest in found.items())


# A field is secret if its name, lower-cased and with everything but letters and digits removed, ends like this.
SECRET_ENDINGS: Final = {
    "password": (
        *(
            "password",
            "passwords",
            "passwd",
            "passwort",
            "kennwort",
            "passphrase",
            "passcode",
            "passwrd",
            "pwd",
            "pswd",
        ),
        *("dbpass", "userpass", "rootpass", "adminpass", "smtppass", "mailpass", "ftppass", "sudopass", "becomepass"),
        *("storepass", "keypass", "requirepass", "masterauth", "userpw", "rootpw", "bindpw", "adminpw", "dbpw"),
    ),
    "token": ("token", "accesstokens", "refreshtokens", "authtokens", "apitokens", "bearer", "codeverifier"),
    "api_key": ("apikey", "apikeys", "accesskey", "accesskeyid", "secretkey", "secretkeybase", "accountkey"),
    "key": (
        *("privatekey", "signingkey", "encryptionkey", "masterkey", "sharedkey", "authkey", "sshkey", "servicekey"),
        *("sessionkey", "deploykey", "hmackey", "licensekey", "subscriptionkey", "functionskey", "storagekey"),
        *("adminkey", "unsealkey", "decryptionkey", "wrappingkey", "recoverykey", "aeskey", "consumerkey"),
    ),
    "secret": (
        "secret",
        "secrets",
        "webhookurl",
        "mnemonic",
        "mnemonicphrase",
        "seedphrase",
        "recoveryphrase",
        "clientassertion",
        "communitystring",
    ),
    "authorization": ("authorization",),
    "cookie": ("cookie", "cookies"),
    "session": ("sessionid", "sessid", "connectsid"),
    "credentials": ("credential", "credentials", "creds"),
    "connection_string": ("connectionstring", "connstr"),
    "signature": ("signature",),
    "card_number": ("cardnumber", "creditcard", "ccnumber", "cardnum"),
    "security_code": (
        *("securitycode", "pincode", "cardpin", "userpin", "onetimecode", "verificationcode", "confirmationcode"),
        *(
            "twofactorcode",
            "recoverycode",
            "recoverycodes",
            "backupcode",
            "backupcodes",
            "mfacode",
            "otpcode",
            "smscode",
            "2facode",
        ),
    ),
    "ssn": ("socialsecuritynumber", "socialsecurity"),
}

# Whose keys are secret by the word before: STRIPE_KEY, OPENAI_KEY. The rows of the vendors' tokens are among them.
_OTHER_VENDORS: Final = """
alchemy algolia alphavantage amplitude assemblyai aws azure binance claude coinbase cohere datadog deepgram deepl
deepseek etherscan finnhub gcp gemini google googlemaps infura kraken mandrill maps mistral mixpanel openweather
pagerduty paystack postmark rapidapi segment serpapi sparkpost twitter weather youtube zendesk
"""
# Words of a language, which name other things too.
_AMBIGUOUS_VENDORS: Final = frozenset(
    [
        "age",
        "context7",
        "cursor",
        "linear",
        "modal",
        "notion",
        "persona",
        "polar",
        "prefect",
        "render",
        "replicate",
        "square",
        "trigger",
        "unkey",
    ]
)

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
    "pass": "password",
    "pw": "password",
    "psw": "password",
}

# The same, if the value is a code of digits: a pin may also be one of a board.
DIGIT_WORDS: Final = {"pin": "security_code"}

# The same in other languages, if the value is no word: what is said of the password is in that language too.
FOREIGN_WORDS: Final = dict.fromkeys(("contrasena", "senha", "passe", "parola"), "password")

# Last words of names whose value is secret only if it looks random: MAPS_KEY=…, but not cache_key=users.
WEAK_WORDS: Final = {"key": "key", "keys": "key", "pat": "token", "salt": "secret", "session": "token"}
# What the name of an environment variable may hold in its middle: AWS_BEARER_TOKEN_BEDROCK. A random value is secret.
WEAK_MIDDLES: Final = r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|APIKEY|API_KEY|PRIVATE_KEY)_"

# Names that end like a secret and are none. A page token says where a listing goes on; an agent needs it.
INNOCENT_ENDINGS: Final = (
    *("pagetoken", "nexttoken", "continuationtoken", "resumetoken", "synctoken", "deltatoken", "skiptoken"),
    *("progresstoken", "cancellationtoken", "canceltoken", "cursortoken", "offsettoken", "idempotencytoken"),
    *("stoptoken", "eostoken", "bostoken", "padtoken", "unktoken", "masktoken", "septoken", "clstoken"),
    *("starttoken", "endtoken", "firsttoken", "lasttoken", "unexpectedtoken", "pertoken", "paginationtoken"),
    *("scrolltoken", "changetoken", "watchtoken", "bookmarktoken", "previoustoken", "prevtoken", "pagingtoken"),
    *("functionsignature", "methodsignature", "toolsignature", "typesignature", "callsignature"),
    *("bypass", "firstpass", "secondpass", "boardingpass", "seasonpass", "renderpass", "multipass", "singlepass"),
    *("primarykey", "foreignkey", "publickey", "sortkey", "partitionkey", "cachekey", "objectkey", "s3key"),
    *("idempotencykey", "routingkey", "rowkey", "hashkey", "rangekey", "shardkey", "groupkey", "issuekey"),
    *("projectkey", "configkey", "indexkey", "uniquekey", "compositekey", "translationkey", "messagekey"),
    *("lookupkey", "registrykey", "dedupkey", "deduplicationkey", "filekey", "blobkey", "documentkey", "hostkey"),
    *("pagekey", "cursorkey", "startkey", "evaluatedkey", "nextkey", "lastkey", "paginationkey", "joinkey", "tagkey"),
    *("boardkey", "spacekey", "fieldkey", "propertykey", "attributekey", "mapkey", "dictkey", "jsonkey", "itemkey"),
    *("websocketkey", "naturalkey", "businesskey", "clusterkey", "rediskey", "publishablekey", "bucketkey"),
    *("componentkey", "nodekey", "hotkey", "shortcutkey", "functionkey", "eventkey"),
)

# First words that turn the name into a question about the secret: has_password, requires_token.
INNOCENT_STARTS: Final = ("is", "has", "needs", "require", "requires", "no", "allow", "show", "use")

# Last words that leave a secret name secret: password_hash, tokenValue, new_password_confirmation.
NEUTRAL_ENDINGS: Final = (
    *("value", "hash", "digest", "confirmation", "confirm", "again", "repeat", "string", "header"),
    *("base64", "raw", "plaintext", "plain", "old", "new", "prod", "test", "dev", "staging", "basic", "code", "data"),
)

# Parameters that are secret only in a URL's query, if their value looks random: ?code=404 is no OAuth code.
QUERY_NAMES: Final = ("key", "code", "sid", "appid")


class Shape(NamedTuple):
    """One look of a secret in running text; its first group stays before the placeholder, its second behind."""

    kind: str
    gates: tuple[str, ...]
    """The pattern cannot match a text that holds none of these, in lower case."""
    pattern: str


# What follows a flag that takes a password, where it is none.
_NO_ARGUMENT: Final = r"""["']?(?:\[redacted|\$[A-Z{(]|<|-|\*\*\*|…)"""
_APART: Final = r"""["']?[=,\s]{1,3}(?=\S)"""
_EITHER: Final = rf"""(?:{_APART}|(?=[A-Za-z0-9]|["'][^\s,"'\]]))"""

# Programs that take a password behind a short flag, and the way to it behind the dash.
COMMANDS: Final = (
    (
        "mysql mysqldump mysqladmin mysqlimport mysqlcheck mariadb mariadb-dump 7z 7za 7zr",
        r"""p(?=[^\s,"']|["'][^\s,\]])""",
    ),
    ("sshpass mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh rdesktop twine login", f"p{_EITHER}"),
    ("redis-cli valkey-cli", f"(?:a|-pass){_APART}"),
    (
        "ldapsearch ldapmodify ldapadd ldapdelete ldappasswd ldapwhoami ldapcompare ldapmodrdn ldapexop ldap_bind",
        f"w{_EITHER}",
    ),
    ("snmpwalk snmpget snmpset snmpbulkwalk snmpbulkget snmptrap", f"c{_APART}"),
    ("sqlcmd bcp osql isql zip unzip ipmitool mosquitto_pub mosquitto_sub", f"P{_EITHER}"),
    ("curl", r"""u["']?[\w.@+-]{1,64}:"""),
    ("lftp", r"""u["']?\s{0,3}[\w.@+-]{1,64},"""),
    ("smbclient rpcclient", r"""U["',\s]{0,4}[\w.\\/-]{1,64}%"""),
    ("openssl keytool", r"""pass(?:in|out)?["',\s]{1,4}pass:"""),
    ("ssh-keygen", rf"[NP]{_APART}(?=\S{{0,60}}[\d!@#$%^&*])"),
    ("htpasswd", r"\w{0,5}b\w{0,5} \S{1,128} \S{1,64} "),
)
ARGUMENT: Final = rf"""(?!{_NO_ARGUMENT})(?:'(?P<single>[^'\n]++)|"(?P<double>[^"\n]++)|(?P<bare>[^\s"',|;&]++))"""

# The members of a JSON web key that are secret.
JWK_SECRETS: Final = ("d", "p", "q", "dp", "dq", "qi", "k")

_FIELD_OF_A_STRING: Final = r"[^\s@;]{0,200}+;[A-Za-z][\w ]{0,40}="

# Applied from top to bottom, before names and values are looked at.
SHAPES: Final = (
    # Key material must follow, so that a sentence may name the header line. Without an END line the rest is taken.
    Shape(
        "private_key",
        ("-----begin ",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"""(?=(?:[\s"',+]|\\+[nr])*+(?:M[A-Z]|b3B|l[A-Z]|[A-Za-z0-9+/=]{16}|[A-Z][A-Za-z-]{2,20}:))"""
        r"[^-]*+(?:-(?!----)[^-]*+)*+(?:-----END [^-\n]{0,60}-----|[\s\S]*+)",
    ),
    Shape(
        "private_key",
        ("private-lines:",),
        r"(P(?<!\wP)rivate-Lines: {0,2}\d{1,3}(?:\s|\\[nr]){1,4})"
        r"(?:(?!Private-MAC)[A-Za-z0-9+/=]{4,}+(?:\s|\\[nr]){0,4})++",
    ),
    # First what stands before the last @ of the authority. Then passwords with / ? # in them, told from host:port.
    # The fields of a connection string (jdbc:sqlserver://host;user=…) are no part of it.
    Shape(
        "url_credentials",
        ("@",),
        rf"""(://)(?!\[redacted:\w+\]@|git@|@|{_FIELD_OF_A_STRING})(?:[^\s/?#"'<>`@]*+(@))++""",
    ),
    Shape(
        "url_credentials",
        ("@",),
        rf"""(://)(?!\[redacted:\w+\]@|{_FIELD_OF_A_STRING})[^\s/?#@:"'<>`]*+:(?!\d{{1,5}}(?![\w.~!$&*+=%@-]))"""
        r"""(?:(?:[^\s"'<>`@:]|:(?!//))*+(@))++""",
    ),
    # A host whose port is no number is the rest of a password with both @ and /.
    Shape(
        "url_credentials", ("@",), r"""(://)\[redacted:url_credentials\]@[^\s/?#@:"'<>`]*+:(?![\d\[])[^\s@"'<>`]*+(@)"""
    ),
    Shape("url_credentials", ("@",), r"""(:)[^\s@:"'\]]{1,128}+(@)(?=(?:tcp|unix)\()"""),
    Shape(
        "password",
        ("@",),
        r"""(:)(?<=[\w.+-]:)(?<!\[redacted:)(?!//|\[redacted)[^\s@/:"'<>\[\]]{3,128}+(@)"""
        r"(?=[\w.-]{1,128}+:\d{2,5}(?!\d))",
    ),
    # Oracle: user/password@database. What stands around it decides.
    Shape("oracle_password", ("@",), r"""(/)(?<=\w/)(?!\[redacted)[^\s@/"'():\[\]]{1,64}+(@)"""),
    Shape(
        "url_credentials",
        ("%40",),
        r"""(%3[Aa]%2[Ff]%2[Ff])(?!\[redacted)(?:[^\s&"'%/]|%(?!40|2[Ff]))*+(%40)""",
    ),
    Shape(
        "webhook",
        ("hook",),
        r"(hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/"
        r"|webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/|hook\.\w{2,4}\d\.make\.com/"
        r"|chat\.googleapis\.com/v1/spaces/(?=[\w/]{1,80}\?key=))[\w/@.+-]{6,}+",
    ),
    Shape(
        "password",
        ("-u",),
        r"""(-(?<![\w-]-)(?:[uU]|-user|-proxy-user)["',=\s]{1,4})"""
        r"""(?!\d+:\d+(?!\w)|(?:root|node|nobody|app|www-data):(?:root|node|nogroup|app|www-data)(?!\w)|\[redacted|[^\s:]{1,128}:\d{1,5}(?!\S))[^\s:"',=/\[-][^\s:"',=/\[]{0,127}+:(?!//)[^\s"']++""",
    ),
    # A user and a password behind -u and -p. A word alone may be a database, a number a port.
    Shape(
        "password",
        ("-u",),
        r"""(\s["']?-[uU]["',\s]{0,4}[\w.@+-]{1,64}["',\s]{1,4}-p["',=\s]{1,4})"""
        r"""(?!\d+(?!\S)|\[redacted|\$)(?=[^\s"',]{0,60}[\d!@#$%^&*])[^\s"',]++""",
    ),
    Shape(
        "password",
        ("/user:",),
        r"(n(?<!\wn)et\s{1,3}use\s[^\n]{0,200}?/(?i:user):\S{1,64}\s{1,3})(?!\[redacted|[/*])\S++",
    ),
    Shape("password", ("/p:",), r"(\s/u:\S{1,64}\s{1,3}/p:)(?!\[redacted)\S++"),
    Shape(
        "password",
        ("sudo -s", "--password-stdin"),
        r"""(e(?<!\we)cho\s{1,3}["']?)(?!\[redacted)[^\s"'|$]{1,128}+"""
        r"""(["']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3}-S|[^\n|]{1,80}?--password-stdin))""",
    ),
    Shape(
        "password",
        ("identified",),
        r"""([Ii](?<!\w[Ii])(?i:dentified\s{1,4}(?:with\s{1,4}\S{1,64}\s{1,4})?(?:by|as)\s{1,4}(?:password\s{1,4}|values\s{1,4})?+))"""
        r"""(?!["']?\[redacted|[?:$%]|(?:is|not|was|and|or|with|in|clause|cannot|requires|must)\b)(?:'[^'\n]++|"[^"\n]++|[^\s"';]++)""",
    ),
    Shape("password", ("vault login",), r"(v(?<!\wv)ault login )(?=[A-Za-z0-9.]{20})[^\s\"']++"),
    Shape("auth_plain", ("auth ",), r"(A(?<!\wA)UTH (?:PLAIN|LOGIN) )(?!\[)[A-Za-z0-9+/=]{8,}+"),
    # Redis: a user, and the password behind it.
    Shape("redis_password", ("auth ",), r"""(A(?<!\wA)UTH [\w.@-]{1,64} )(?!\[redacted)[^\s"']{5,}+"""),
    # A line of .pgpass: host, port, database, user, password.
    Shape(
        "pgpass_password",
        (":5432:", ":*:"),
        r"""(:(?:5432|\*):[A-Za-z_*][\w*.-]{0,62}:[A-Za-z_*][\w.@*+-]{0,62}:)(?!\[redacted)[^\s"',;]{3,}+""",
    ),
    Shape("password", ("pass ",), r"(U(?<!\wU)SER \S{1,64}\s{1,8}(?:[><]{1,3} )?PASS )(?!\[redacted)\S++"),
    # The secret of an AWS key, behind its id; that is found among the tokens.
    Shape(
        "aws_secret_key",
        ("akia", "asia"),
        r"""(A(?<!\wA)[KS]IA[A-Z0-9]{16}(?![A-Z0-9])["']?[^\w\n]{1,6}(?:[A-Za-z_]{1,20}["']?[ =:]{1,3}["']?){0,3})"""
        r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])",
    ),
    # A name of an LDAP directory, and the password that it binds with.
    Shape("password", ("bind",), r"""(bind(?:_s)?\(["']\w{1,20}=[^"'\n]{1,200}["'],\s{0,3}["'])[^"'\n]++"""),
    Shape(
        "password_hash",
        ("{ssha", "{crypt}"),
        r"(\{(?:SSHA\d{0,3}|CRYPT)\})[\w+/=$.]{8,}+",
    ),
    Shape(
        "password",
        ("login ",),
        r"""(L(?<!\wL)OGIN ["']?[\w.@+-]{1,64}["']? ["']?)(?!\[redacted|[\d.:]++(?!\S))"""
        r"""(?=[^\s"']{0,60}[\d!@#$%^&*])[^\s"']{4,}+""",
    ),
    Shape("password", ("net user ",), r"(n(?<!\wn)et user \S{1,64} )(?![/*])(?=\S{0,60}[\d!@#$%^&*])\S++"),
    Shape(
        "password",
        ("rabbitmqctl ",),
        r"(r(?<!\wr)abbitmqctl [^\n]{0,80}?(?:change_password|add_user|authenticate_user)\s{1,3}[\w.@-]{1,64}\s{1,3})"
        r"(?!\[redacted)\S++",
    ),
    # A key in JSON: its secret members have short names.
    Shape(
        "private_key",
        ("kty",),
        rf"""(["'](?:{"|".join(JWK_SECRETS)})\\*["']\s{{0,4}}:\s{{0,4}}\\*["'])[\w+/=-]{{16,}}+""",
    ),
    Shape("password", ("login",), r"(l(?<!\wl)ogin\s{1,4}\S{1,128}\s{1,4}password\s{1,4})(?!\[redacted|…)\S++"),
    Shape(
        "token",
        ("bearer",),
        r"([Bb](?<!\w[Bb])(?:(?<=B)earer|(?<=B)EARER|(?<=b)earer(?=\s{1,4}\S{0,40}\d))\s{1,4})"
        rf"""(?!(?i:{"|".join(sorted(PROSE))}|auth|realm)(?![\w~+/-])|[\w-]+=["'\w])[\w.~+/=-]++""",
    ),
    Shape("basic_auth", ("basic ",), r"([Bb](?<!\w[Bb])(?i:asic) {1,4})[A-Za-z0-9+/]{4,512}+={0,2}"),
    Shape(
        "password_hash",
        ("$",),
        r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{8,}+|\$(?:[1567y]|gy|md5|sha1|apr1)\$[./A-Za-z0-9$=,]{8,}+"
        r"|\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,16})\$[\w./$=,+-]{8,}+"
        r"|pbkdf2_sha\d{1,3}\$[\w./$=,+-]{8,}+|scrypt\$[\w./$=,+-]{8,}+|bcrypt_sha256\$[\w./$=,+-]{8,}+",
    ),
)
# What passwords are called in languages with other letters, in lower case. For texts that are not only ASCII.
FOREIGN_NAMES: Final = (
    *("contraseña", "lösenord", "hasło", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호"),
    *("סיסמה", "كلمة المرور", "รหัสผ่าน", "mot de passe"),
)
FOREIGN: Final = (
    rf"""(?:{any_of({case(name) for name in FOREIGN_NAMES for case in (str.lower, str.capitalize, str.upper)})})"""
    r"""["'”]?[ \t\xa0\u3000]{0,4}(?:[:=\uff1a\uff1d]|\b(?:es|est)\b|是|は|(?=["'“„«「『]))"""
    r"""[ \t\xa0\u3000]{0,4}["'“„«「『]?[ \xa0\u202f]?(?P<value>[!#-&(-;=?-~]{3,128}+)"""
)
# Applied after the tokens: one of them may hold a number that a card could have.
CARD: Final = Shape(
    "card_number",
    tuple("23456"),
    # The first digit is looked at before what stands before it: to search for a set of characters is fast.
    r"[2-6](?:(?<![\w.-][2-6])|(?<=\\[nrt][2-6]))(?:(?:(?<=4)\d\d\d|(?<=5)[1-5]\d\d|(?<=2)[2-7]\d\d|(?<=6)(?:011|5\d\d))"
    r"(?:[ -]?\d{4}){3}|(?<=3)[47]\d\d[ -]?\d{6}[ -]?\d{5})(?![\w-])",
)


def tokens(first: str = "") -> dict[str, str]:
    """Return for each kind of token what finds it, known by its looks alone; only those that may begin with *first*.

    None may begin in the middle of a word.
    """
    found: dict[str, list[str]] = {kind: [form] for kind, form in FORMS.items()}
    for kind, prefixes, alphabet, shortest in PREFIXES:
        if begin := "|".join(re.escape(prefix) for prefix in prefixes.split() if prefix.startswith(first)):
            found.setdefault(kind, []).append(rf"(?:{begin}){ALPHABETS[alphabet]}{{{shortest},}}+")
    return {kind: "|".join(forms) for kind, forms in found.items()}


def _any_token() -> str:
    """Return what finds a token of any kind. Grouped by first letter: a word is tried against few of them."""
    groups: dict[str, list[str]] = {}
    for _, prefixes, alphabet, shortest in PREFIXES:
        for prefix in prefixes.split():
            groups.setdefault(prefix[0], []).append(rf"{re.escape(prefix[1:])}{ALPHABETS[alphabet]}{{{shortest},}}+")
    begun = (f"{letter}(?:{'|'.join(rests)})" for letter, rests in sorted(groups.items()))
    return "|".join((*begun, *FORMS.values()))


TOKEN: Final = _any_token()

# A program or driver of Oracle before the user, or an address of a database behind the password.
BEFORE_ORACLE: Final = (
    r"(?i:thin:|\b(?:sqlplus|sqlldr|expdp|impdp|rman target|connect|conn|userid=|ora-\d{5}.{0,60})[\"'\s(]{0,3}"
    r"(?:-\w{1,2}\s{1,3}){0,3})[\"']?[\w$#.]{1,30}/\Z"
)
BEHIND_ORACLE: Final = r"//|[\w.-]{1,128}+:\d{2,5}[/:]\w|\(DESCRIPTION|(?!HEAD|MAIN)[A-Z][A-Z0-9_.]{2,30}+(?![\w/@-])"

# The further lines of a private key whose first line was told by its beginning.
MORE_OF_A_KEY: Final = (
    r"(\[redacted:private_key\])(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/]{40,}+={0,2})++"
    r"(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/]{2,76}={1,2})?+"
)

# What stands before a number that is no card's: the number of an order, an id.
NUMBERED: Final = (
    r"(?i:order|invoice|ticket|tracking|shipment|parcel|transaction|txn|request|job|run|build|message|event|user|customer"
    r"|file|row|record|batch|item|product|sku|serial|imei|reference|ref|receipt|booking|reservation|contract|case|issue"
    r"|task|thread|post|tweet|channel|chat|guild|isbn|barcode|device|account|timestamp|offset|snowflake|number|id)s?"
    r"(?i:[\s_-]?(?:number|num|no|nr|id|ref|key))?[\"'`]?[\s:=#.(\[]{0,4}[\"'`#(]?\Z"
)

# A name, then what separates it from its value: a sign, the space after a --flag, a <tag>, a space before a quote.
# The twelve digits are the account in an AWS ARN, where "secret:" is followed by a name.
_WIDE_BLANK: Final = r"[ \t\xa0\u2000-\u200a\u202f\u205f\u3000]"
# How a value is written, or which of two it is, between its name and the sign: "secret key (hex): …".
_FORM: Final = (
    "(?i:hex|base64|b64|raw|plain|plaintext|text|utf-?8|encoded|decoded|decrypted|jwt|pem|again|new|old|current)"
)
_PAIR: Final = (
    r"(?:(?P<escape>%[0-9A-Fa-f]{2}|\\[nrt])|(?<![\w.-])(?<!\d{12}:))"
    r"""(?:(?P<flag>--?[A-Za-z][\w-]*+)["']?,?[ \t]{1,4}|(?P<name>[\w.-]++)(?:"""
    r"""(?P<sign>(?:\\*+["']|&quot;|&\#3[49];|[`*CURLY]{1,2})?+[\])}]?+(?:[ ]\(""" + _FORM + r"""\))?+BLANK{0,8}+"""
    r"""(?:SIGN:=|=>|->|={1,3}+|:(?!//|:)|%3[DdAa]|\\u003[DdAa])(?:\*\*(?=[ \t]))?+)"""
    r"""|(?P<tag>>)(?=\s{0,20}(?:<!\[CDATA\[)?[^<>]{1,512}(?:</|>))|(?P<item>["'],)(?=[ \t]?[bu]?["'])"""
    r"""|[ \t](?=[bu]?["'])))"""
)
PAIR: Final = _PAIR.replace("BLANK", r"[ \t]").replace("SIGN", "").replace("CURLY", "")
# The same in a text that is not only ASCII: with wide signs and other blanks.
WIDE_PAIR: Final = (
    _PAIR.replace("BLANK", _WIDE_BLANK).replace("SIGN", r"[\uff1a\uff1d]|").replace("CURLY", r"\u201d\u2019")
)
# One of these signs is in every pair.
JOINS: Final = r"""[-:=>"'%\\\uff1a\uff1d]"""

# Ways to write a value, one group each. QUOTED opens the alternatives, one of the three below it closes them.
QUOTED: Final = (
    rf"""(?:\s{{0,20}}(?=[bBuUrRfF]{{0,2}}["'\\&])|{_WIDE_BLANK}{{0,8}})"""
    r"""(?:(?:string\(\d{1,5}\) |[bBuUrRfFN]{1,2})(?=["'])"""
    r"""|!{1,2}(?:binary|str|string|vault|secret|env)[ ]{1,3}(?=[^\s|>])|\[\s?(?="[^\s"]{1,200}"\s?\]))?(?:"""
    r"""\\+"((?:[^"\\\n]|\\++(?!"))*+)|\\+'((?:[^'\\\n]|\\++(?!'))*+)|\"{3}([^"]*+)|'{3}([^']*+)"""
    r"""|"((?:[^"\\\n]|\\.)*+)|'((?:[^'\\\n]|\\.)*+)|(?:&quot;|&\#3[49];)((?:[^&\n]|&(?!quot;|\#3[49];))*+)"""
)
QUOTED_WAYS: Final = 7
# A word, up to where a list or a query goes on.
BARE: Final = (
    r"""|\(((?=[bu]?["'])[^)\n]*+)|((?!\[\s?["'\]]|\{\s?(?:["'}]|\w+:))"""
    r"""(?:[^\s"'`&;,<\\]|<(?!/)|["'`](?=\w)|[&;,](?!\s|$|["']|[\w. -]{1,40}=)"""
    r"""|\\(?!["']|u0026|[nrt](?:\W|$|[\w.-]{1,40}[=:])))++))"""
)
# A field of a connection string, and a header: one word after a simple scheme, else the rest of the line or quote.
FIELD: Final = r"""|([^;"'\n]++))"""
LINE: Final = (
    rf"""|\[?(?!redacted)((?i:{SIMPLE_SCHEMES})[ \t]++[^\s"'`,;]++)"""
    r"""|((?:[^\n\\QUOTE]|\\(?![nrQUOTE]))++))"""
)
FIRST_WORD: Final = (
    rf"[ \t]{{0,8}}(?:(?i:{SIMPLE_SCHEMES})[ \t]{{1,4}})?+([A-Za-z]{{1,20}}+)[.,;:!?)…]{{0,4}}"
    r"(?=\s(?:([a-z]{1,8})(?!\w))?|$)"
)
TAGGED: Final = r"\s{0,20}(?:<!\[CDATA\[)?([^<>\n]{1,512}?)(?=\s{0,20}(?:</|\]\]>))"
# A value that was redacted before, and the rest of a line.
REDACTED: Final = (
    r"""[ \t]?(?:"\[redacted:\w+\]"|'\[redacted:\w+\]'"""
    r"""|\[redacted:\w+\](?:[)\]}.,:;!?]*+(?=\s|\Z)|(?=["'`](?!\w)|&[\w.-]{1,40}=|</)))"""
)
REDACTED_LINE: Final = rf"[ \t]?(?:(?i:{SIMPLE_SCHEMES})[ \t])?\[redacted:\w+\](?=\n|\Z)"
# YAML: the value on a line of its own, below its name.
NEXT_LINE: Final = (
    r"""[ \t]{0,4}(?:[|>][+-]?)?[ \t]{0,4}\n(?:[ \t]{0,20}\n)?[ \t]{1,20}(?![#\-{\[|"'])"""
    r"(?!\S{1,512}:[ \t]{0,8}(?:\n|\Z))(\S{1,512}+)(?=[ \t]{0,8}(?:\n|\Z))"
)

# Words that say that a secret is not there: names follow, not values.
ABSENCE: Final = r"\b(?:missing|requires?d?|unset|undefined|not set|no|needs?|provide|expected|unknown)\b"

# Where a thing is looked for by its name: "No such secret: …", 'secret "…" not found'.
LOOKUP: Final = r"\b(?:no such|unknown|missing|specified|find|locate|resolve|denied to|access to|mount|delete)\s{1,3}\Z"
NOT_FOUND: Final = (
    r"""["'`]?[.,;]?\s{1,3}(?:(?:was |is |could |can |does |has )?(?:not|already)\b|(?:doesn|isn|wasn)'t\b"""
    r"""|(?:is|was) (?:disabled|deleted|missing|unknown|locked)\b)"""
)
LOOKED_FOR: Final = frozenset(("secret", "secrets", "credential", "credentials", "token", "key"))

# A secret that is spoken of: a noun, words that lead to the value, the value. The value must look like one.
LINKS: Final = (
    *(
        "provided",
        "supplied",
        "given",
        "entered",
        "received",
        "used",
        "sent",
        "got",
        "specified",
        "passed",
        "submitted",
    ),
    *(
        "presented",
        "value",
        "string",
        "hash",
        "was",
        "is",
        "were",
        "are",
        "set",
        "to",
        "of",
        "as",
        "now",
        "with",
        "the",
    ),
    *(
        "new",
        "below",
        "here",
        "you",
        "your",
        "we",
        "that",
        "has",
        "been",
        "follows",
        "reads",
        "wrong",
        "invalid",
        "mismatch",
        "changed",
        "reset",
        "in",
        "use",
    ),
)
NOUNS: Final = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pass",
    "pwd",
    "token",
    "secret",
    "key",
    "credentials",
    "credential",
    "creds",
    "cred",
    "code",
    "otp",
    "totp",
    "pin",
    "pw",
    "masterauth",
]
IN_PROSE: Final = (
    rf"(?P<noun>{any_of(case(noun) for noun in NOUNS for case in (str.lower, str.capitalize, str.upper))})(?![\w-])"
    rf"""["'`*]{{0,2}}(?:(?P<link>(?:[.,]?[ \t]{{1,4}}(?:(?i:{"|".join(LINKS)})(?![\w-])"""
    r"""|for[ ](?:(?:user|account|role|login)[ ])?[^\s:]{1,64})){1,4}+)(?P<colon>[ \t]{0,4}[:=,])?+)?+"""
    r"""(?:[ \t|]{1,30}+|(?=\(["']))(?!\[redacted)(?:(?P<quote>["'`])(?P<quoted>[^"'`\n]{1,200}+)(?P=quote)"""
    r"""|(?(colon)|(?=[^\s]{0,80}?(?:[\d!@#$%^&*]|[a-z][A-Z])))(?:\(["']?(?P<enclosed>[^\s()"']{1,200}+)["']?\)"""
    r"""|(?P<bare>[^\s"'`(|<>,;][^\s"'`|<>,;]{3,511}+)))"""
)
# A password of several words and a number: correct-Horse-7.
PASSPHRASE: Final = r"[A-Za-z]{2,20}(?:[-_.][A-Z][a-z]{1,20}){1,5}[-_.]\d{1,6}[.,:;!?]?"

# A name and a value that are told by their places: the name is in its group, and the value.
NAMED: Final = (
    (
        (*(f"alue{sign}" for sign in "=:\"' \t\n"), "ontent", "efault"),
        (
            r"""[fhiknpvFHIKNPV](?<!\w[A-Za-z])(?i:ame|ey|ield|arameterkey|eader|d|ariable)["']?\s?[=:]\s?["']?(?P<name>[\w.-]{1,80}+)["']?"""
            r"""[\s,;]{1,12}["']?(?i:value|parametervalue|content|default)["']?\s?[=:]\s?"""
            r"""(?:"(?P<double>[^"\n]{1,512}+)|'(?P<single>[^'\n]{1,512}+)|(?P<value>[^\s"'<>,}]++))"""
        ),
    ),
    (
        ("</",),
        r"""(?:name|key|id)=["'](?P<name>[\w.-]{1,80}+)["'][^<>\n]{0,80}+>\s{0,20}(?P<value>[^<>\s]{1,512}+)\s{0,20}</""",
    ),
    (
        ("</",),
        r"""<(?:\w{1,20}:)?(?P<name>[\w.-]{1,60}+)\s[^<>]{1,120}+>\s{0,20}(?P<value>[^<>\s]{1,512}+)\s{0,20}</""",
    ),
    (("</",), r"""<key>(?P<name>[\w.-]{1,80}+)</key>\s{0,20}<string>(?P<value>[^<>\s]{1,512}+)</"""),
    (
        ("cvv ", "cvc ", "ssn "),
        r"(?P<name>CVV|CVC|SSN|cvv|cvc|ssn)[ #]{1,2}(?P<value>\d{3}-\d\d-\d{4}|\d{3,4})(?!\w)",
    ),
    (("totp s",), r"(?P<name>TOTP|totp) (?:seed|secret)[ :=]{1,3}(?:is )?(?P<value>[A-Z2-7]{16,}+)"),
    (("chpasswd",), r"(?P<name>chpasswd)[^\n]{0,60}?\s[\w.-]{1,32}:(?P<value>\S++)"),
    # An object or a part of a form that holds the value alone, and the words of a wallet.
    (
        ('{"', "{'", "{ "),
        (
            r"""["'](?P<name>[\w.-]{1,80}+)["']\s?:\s?\{\s{0,8}["'](?:value|plaintext|plain|raw|text)["']\s?:\s?"""
            r"""(?:"(?P<double>[^"\n]{1,512}+)|'(?P<single>[^'\n]{1,512}+))"""
        ),
    ),
    (("form-data",), r"""name="(?P<name>[\w.-]{1,80}+)"(?:\n|\\r\\n|\\n){2}(?P<value>[^\s\\]{1,512}+)"""),
    (
        ("phrase", "mnemonic"),
        (
            r"""(?P<name>[Mm]nemonic|(?:[Ss]eed|[Rr]ecovery)[ _-]phrase)[^"'\n]{0,40}"""
            r"""["'](?P<value>(?:[a-z]{3,8}[ ]){11,23}[a-z]{3,8})["']"""
        ),
    ),
    (("entry",), r"""[Dd]uplicate entry '(?P<value>[^'\n]{1,512}+)' for key '(?P<name>[\w.-]{1,120}+)'"""),
)

# A row that is inserted: which of its values are secret is told by the names of the columns.
PARAMETERS: Final = r"\([?%\w:$,\s()]{1,600}?\)[^\[\n]{0,80}\]?\s{0,4}\[parameters: \[?(?=\()"
INSERT: Final = (
    r"[iIrR](?<!\w[iIrR])(?i:(?:nsert|eplace)\s{1,4}(?:ignore\s{1,4})?into)\s{1,4}[^\s(]{1,128}+\s{0,4}"
    r"\((?P<columns>[^()]{1,2000}+)\)\s{0,8}(?i:values)\s{0,4}(?=\()"
)
ROW_ITEM: Final = (
    r"""\s{0,8}+(?:(?P<comma>,)|(?P<opening>\()|(?P<closing>\))|[NEBb]?'(?P<single>(?:[^'\\]|\\.|'')*+)'"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*+)"|(?P<bare>[^\s,()'"]++))|\s++"""
)
# Most rows are plain: no quote or comma within a value, and no brackets.
PLAIN_ITEM: Final = r"""\s{0,8}+(?:[NEBb]?(?:'[^'",\\]*+'|"[^'",\\]*+")|[^\s,()'"\\]*+)\s{0,8}+"""
SECRET_ITEM: Final = r"""\s{0,8}+(?:[NEBb]?(?:'([^'",\\]*+)'|"([^'",\\]*+)")|([^\s,()'"\\]*+))\s{0,8}+"""


@cache
def _vendor_keys() -> tuple[str, ...]:
    rows = {kind.rpartition("_")[0] for kind in tokens() if "_" in kind} | set(_OTHER_VENDORS.split())
    return tuple(f"{vendor}key" for vendor in sorted(rows - _AMBIGUOUS_VENDORS))


def _by_end(endings: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the endings by their last two characters: a name is compared with few of them."""
    found: dict[str, tuple[str, ...]] = {}
    for ending in endings:
        found[ending[-2:]] = (*found.get(ending[-2:], ()), ending)
    return found


_KIND_OF_ENDING: Final = {ending: kind for kind, endings in SECRET_ENDINGS.items() for ending in endings}
_ENDINGS: Final = _by_end(_KIND_OF_ENDING)
_INNOCENT_ENDINGS: Final = _by_end(INNOCENT_ENDINGS)
_NEUTRAL_ENDINGS: Final = _by_end(NEUTRAL_ENDINGS)


def is_harmless_name(flat: str) -> bool:
    """Tell whether a name, in lower case and without signs, ends like a secret's and is none."""
    return flat.endswith(_INNOCENT_ENDINGS.get(flat[-2:], ()))


class SecretName(NamedTuple):
    """What a name says of its value."""

    kind: str
    proof: str = ""
    """What a secret value must look like: long, digits, random, generated (of three alphabets), unusual, or any."""


def is_secret_name(name: str) -> bool:
    """Tell whether a field, argument or header of this *name* holds a secret."""
    return kind_of_name(name[-80:]) is not None


def kind_of_name(name: str) -> str | None:
    """Return the kind of secret that a *name* announces by itself, or None."""
    found = secret_name(name)
    return found.kind if found and (not found.proof or found.kind == "session") else None


@lru_cache(maxsize=1024)
def secret_name(name: str) -> SecretName | None:
    """Return what a *name* says of its value, or None."""
    flat = _secret_name_pattern(r"[^a-z0-9]++").sub("", name.lower()).rstrip("0123456789")
    for _ in range(3):
        end = flat[-2:]
        if is_harmless_name(flat):
            return None
        for ending in _ENDINGS.get(end, ()):
            if flat.endswith(ending):
                kind = _KIND_OF_ENDING[ending]
                return None if _asks(name) else SecretName(kind, "random" if kind == "session" else "")
        if end == "ey" and flat.endswith(_vendor_keys()) and _secret_name_pattern(r"key(?![a-z])").search(name.lower()):
            return SecretName("api_key", "long")
        shorter = next((flat.removesuffix(word) for word in _NEUTRAL_ENDINGS.get(end, ()) if flat.endswith(word)), flat)
        if shorter == flat:
            break
        flat = shorter
    words = _secret_name_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])").findall(name)
    last = words[-1].lower() if words else ""
    if last in SECRET_WORDS:
        return SecretName(SECRET_WORDS[last])
    if last in DIGIT_WORDS:
        return SecretName(DIGIT_WORDS[last], "digits")
    if last in FOREIGN_WORDS:
        return SecretName(FOREIGN_WORDS[last], "unusual")
    if flat.endswith("key") or last in WEAK_WORDS:
        return SecretName(WEAK_WORDS.get(last, "key"), "generated" if name.lower() == "key" else "random")
    if name.isupper() and _secret_name_pattern(WEAK_MIDDLES).search(name):
        return SecretName("secret", "random")
    return None


def _asks(name: str) -> bool:
    return bool(_secret_name_pattern(rf"[\W_]*(?:{'|'.join(INNOCENT_STARTS)})(?=[A-Z\W_])").match(name))


# What every secret name has a part of, in lower case, whatever signs stand between its words.
_PARTS: Final = (
    *(
        "key",
        "token",
        "secret",
        "pass",
        "pwd",
        "pswd",
        "pw",
        "p.w.d",
        "cc.?number",
        "sessi",
        "sess?id",
        "card",
        "cred",
        "cookie",
    ),
    *("auth", "assertion", "security", "signature", "kennwort", "phrase"),
    *("community.?str", "connection.?str", "conn.?str", "connect.?sid", "code.?verifier"),
    (
        r"code(?:(?<=[tr]ycode)|(?<=[tr]y.code)|(?<=[io]ncode)|(?<=[io]n.code)|(?<=[fm][as]code)|(?<=[fm][as].code)"
        r"|(?<=[tu]pcode)|(?<=[tu]p.code)|(?<=mecode)|(?<=me.code)|(?<=torcode)|(?<=tor.code))"
    ),
)
# The same, where too few begin with the letter to look for it everywhere.
_RARE_PARTS: Final = ("bearer", "mnemonic", "webhook", "userpin", "user_pin", "user-pin", "user pin")
_NOT_IN_A_FLAT_NAME: Final = bytes(set(range(128)) - set(b"abcdefghijklmnopqrstuvwxyz0123456789"))


def _whole_words() -> Iterable[str]:
    return (f"{word}(?![a-z])" for word in (*SECRET_WORDS, *DIGIT_WORDS, *FOREIGN_WORDS, *WEAK_WORDS))


@cache
def _usual_parts() -> re.Pattern[str]:
    return re.compile(any_of((*_PARTS, *_whole_words())))


@cache
def part_of_a_name() -> re.Pattern[str]:
    """Return what finds, in lower case, a part of every name that can be secret."""
    return re.compile(any_of((*_PARTS, *_RARE_PARTS, *QUERY_NAMES, *_whole_words())))


@cache
def _flat_names() -> re.Pattern[str]:
    """Return what finds the endings of secret names in a text that was made flat like a name.

    Those that end alike are looked for by their end: few texts hold it, and all begin with another letter.
    """
    found: dict[str, list[str]] = {}
    for ending in _KIND_OF_ENDING:
        if not any(other in ending for other in _KIND_OF_ENDING if other != ending):
            found.setdefault(
                next((end for end in ("key", "pass", "pw", "code") if ending.endswith(end)), ""), []
            ).append(ending)
    alike = (
        f"{end}(?<=[{''.join(sorted({ending.removesuffix(end)[-1] for ending in found[end]}))}]{end})"
        f"(?:{'|'.join(f'(?<={ending})' for ending in found[end])})"
        for end in found
        if end
    )
    return re.compile("|".join((any_of(found[""]), *alike)))


@cache
def _last_words() -> re.Pattern[str]:
    return re.compile(any_of((*SECRET_WORDS, *DIGIT_WORDS, *FOREIGN_WORDS), "(?![a-z])"))


@cache
def _weak_words() -> re.Pattern[str]:
    """Return what finds the last words of weak names before what may be a random value."""
    value = r"(?![a-z])(?:[ _-][a-z]{1,12}){0,5}+[^a-z0-9]{0,16}+(?=[^\s]{0,120}?[a-z0-9]{8})"
    return re.compile(any_of(WEAK_WORDS, value))


def may_name_a_secret(low: str, *, is_gated: bool = True) -> bool:
    """Tell whether any name in a text, in lower case, can be secret; *is_gated*: whether it holds the gate of a shape.

    False is certain, True may be an alarm for nothing.
    """
    if ("?" in low or "&" in low or "%" in low) and ("key" in low or "code" in low or "sid" in low or "appid" in low):
        return True
    part = _usual_parts().search(low)
    if not part and not (
        ("mnemonic" in low or (is_gated and ("bearer" in low or "webhook" in low)))
        or ("pin" in low and ("userpin" in low or "user_pin" in low or "user-pin" in low or "user pin" in low))
    ):
        return False
    # A name may be written with anything between its letters: API-Key, api_key, "api key".
    flat = low.encode("ascii", "ignore").translate(None, _NOT_IN_A_FLAT_NAME).decode()
    if _flat_names().search(flat):
        return True
    return bool(part and (_last_words().search(low, part.start()) or _weak_words().search(low, part.start())))


@cache
def _secret_name_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
