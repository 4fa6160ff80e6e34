"""Makes text safe to send: removes secrets and invisible characters, and limits the length.

`clean` is the one function every string that leaves passes. It does the same for text that was cleaned before: the
result is a fixed point, so both ends of a connection and a proxy between them may all clean.
"""

import binascii
import re
from collections.abc import Callable, Collection, Iterator
from functools import cache, lru_cache, partial
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Final

from failwell.redact.secret_values import (
    NAME_WORDS,
    PROSE,
    SHORTEST_TOKEN,
    has_digits_of_a_card,
    is_generated,
    is_harmless,
    is_random,
    is_token,
    is_unusual,
    is_wording,
    long_words,
    may_hold_a_token,
)
from failwell.redact.secrets import (
    ABSENCE,
    ARGUMENT,
    BARE,
    BEFORE_ORACLE,
    BEHIND_ORACLE,
    CARD,
    COMMANDS,
    FIELD,
    FIRST_WORD,
    FOREIGN,
    FOREIGN_NAMES,
    IN_PROSE,
    INSERT,
    JOINS,
    LINE,
    LOOKED_FOR,
    LOOKUP,
    MORE_OF_A_KEY,
    NAMED,
    NEXT_LINE,
    NOT_FOUND,
    NOUNS,
    NUMBERED,
    PAIR,
    PARAMETERS,
    PASSPHRASE,
    PLAIN_ITEM,
    QUERY_NAMES,
    QUOTED,
    QUOTED_WAYS,
    REDACTED,
    REDACTED_LINE,
    ROW_ITEM,
    SECRET_ITEM,
    SHAPES,
    TAGGED,
    TOKEN,
    WIDE_PAIR,
    SecretName,
    any_of,
    is_harmless_name,
    is_secret_name,
    may_name_a_secret,
    part_of_a_name,
    secret_name,
    tokens,
)

__all__ = ["clean", "clean_ends", "holds_json", "is_secret", "is_secret_name", "placeholder", "scrub", "scrub_program"]


# Every range is unseen, unassigned for good, or changes how others are seen.
_CHARACTERS: Final = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
# Escape sequences go as a whole, but none may take the letter with it that a token is known by. Each begins with one of
# the characters above.
_SEQUENCES: Final = (
    r"\x1b\[(?:[0-?]++(?: q|[@-~])|[mKJ]|[@-~](?![A-Za-z0-9]))|\x9b[0-?]++[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x9c|\x1b\\)"
    r"|\x1b(?:[()*+#%][0-9A-Za-z]|[78=>cDEHM](?![A-Za-z0-9])|[\[\]]?)"
)


def drop_invisible(text: str) -> str:
    """Return *text* without invisible characters, and with one kind of line end."""
    if text.isascii():
        if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
            return text
    else:
        text = text.replace("\u2028", " ").replace("\u2029", " ")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _compiled(f"{_SEQUENCES}|{_CHARACTERS}").sub("", text) if _compiled(_CHARACTERS).search(text) else text


_MARK: Final = "…"
_OPENING: Final = "[redacted:"


def placeholder(kind: str) -> str:
    """Return what stands where a secret of this *kind* was."""
    return f"{_OPENING}{kind}]"


_PLACEHOLDER: Final = r"\[redacted:\w+\]"
_PRIVATE_KEY: Final = placeholder("private_key")


def clean(text: str, limit: int) -> str:
    """Return *text* without secrets and invisible characters, at most *limit* code points long."""
    if len(text) <= limit and is_plain(text):
        return text
    if limit < 1:
        return ""
    bound = 4 * limit + 512
    seen = drop_invisible(text[:bound])
    if len(text) > bound:
        seen = _drop_cut_word(seen, limit)
    steps = _steps(seen)
    if not steps and len(seen) <= limit:
        return seen
    for _ in range(4):
        safe = seen
        for step in steps:
            safe = step(safe)
        if len(safe) > limit:
            safe = _cut(safe, limit)
            steps = _steps(safe)  # a cut can make a secret of what was none
        if safe == seen:
            return safe
        seen = safe
    # Text that still changes after four rounds was made to.
    return _cut(placeholder("text"), limit)


_WINDOW: Final = 1 << 14
"""Characters at each end of a long text that are looked at, to show fewer of them."""


def clean_ends(text: str, limit: int) -> str:
    """Return what `clean` returns, but of a text that is too long its head and its tail: a log ends with the reason."""
    if len(text) <= limit:
        return clean(text, limit)
    window = max(_WINDOW, limit)
    if len(text) > 2 * window:
        # A word that was cut may be half a secret; of a longer one nothing is shown.
        head_end, tail_start = text.rfind(" ", window - 512, window), text.find(" ", -window, 512 - window)
        head = text[: head_end if head_end > 0 else window]
        text = f"{head}\n{_MARK}\n{text[tail_start if tail_start > 0 else -window :]}"
    whole = clean(text, 8 * len(text) + 64)
    if len(whole) <= limit:
        return whole
    start = len(whole) - (limit - limit * 3 // 5 - 1)
    closing = whole.find("]", start)
    if whole.rfind(_OPENING, 0, start + len(_OPENING)) > whole.rfind("]", 0, start) and closing >= 0:
        start = closing + 1
    elif (line := whole.find("\n", start, start + (len(whole) - start) // 2)) >= 0:
        start = line + 1
    elif (word := whole.find(" ", start)) >= 0:
        start = word + 1
    return clean(f"{_cut(whole, limit * 3 // 5)}\n{whole[start:]}", limit)


def scrub(text: str) -> str:
    """Return *text* with a placeholder for each secret in it, in time linear in its length."""
    if not is_plain(text):
        for step in _steps(text):
            text = step(text)
    return text


def scrub_program(name: str) -> str:
    """Return the name of a program that was to be started, or without its secret an address that was taken for one."""
    user, at, _ = name.partition("@")
    return scrub(f"://{name}").removeprefix("://") if at and ":" in user else scrub(name)


Step = Callable[[str], str]


def _steps(text: str) -> list[Step]:
    """Return the steps that may find a secret in a *text*, in their order; most texts need none.

    A step that finds none now has none to find when others have put their placeholders into the text.
    """
    low = text.lower()
    is_gated = has_gate(low)
    names_a_secret = may_name_a_secret(low, is_gated=is_gated)
    steps: list[Step] = _gated(_shapes(), low) if is_gated else []
    if not text.isascii():
        steps += _gated(_foreign(), low)
    if "-" in text and _any_flag().search(text):
        steps.append(_scrub_commands)
    data = text.encode("ascii", "replace")
    if has_token(data):
        steps.append(_scrub_tokens)
    if has_digits_of_a_card(data):
        steps.append(_scrub_cards)
    if steps or (names_a_secret and _PRIVATE_KEY in text):
        steps.append(_scrub_key_lines)
    if names_a_secret:
        steps += _gated(_named(), low)
        if "values" in low:
            steps.append(_scrub_rows)
        steps.append(_scrub_pairs)
        if _prose_pattern().search(low):
            steps.append(_scrub_prose)
    return steps


def _scrub_tokens(text: str) -> str:
    return _token().sub(_replace_token, f"\n{text}")[1:]


def _scrub_cards(text: str) -> str:
    return _compiled(CARD.pattern).sub(_replacement(CARD.kind), text)


def _scrub_key_lines(text: str) -> str:
    return _compiled(MORE_OF_A_KEY).sub(r"\1", text) if _PRIVATE_KEY in text else text


def _scrub_prose(text: str) -> str:
    return _compiled(IN_PROSE).sub(_replace_in_prose, text)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = limit - 1
    opening = text.rfind(_OPENING, 0, end + len(_OPENING))
    if 0 <= opening < end <= text.find("]", opening):
        end = opening
    return text[:end].rstrip() + _MARK


def _drop_cut_word(text: str, limit: int) -> str:
    """Drop the last word, which may be half a secret, if so much else is redacted that it would be seen."""
    if len(scrub(text)) > limit + 512:
        return text
    return text[: max(text.rfind(" "), text.rfind("\n"), 0)] + _MARK


Replace = Callable[[re.Match[str]], str]
# A sign that all gates of some patterns have, the gates, and a step for each pattern: a text that holds none of the
# gates has nothing to replace, and to look for one sign is much faster.
Gated = tuple[str, tuple[str, ...], list[Step]]
_RAREST_FIRST: Final = "qzxjkvbgpwyfcmudlhrsnioate"  # letters of English


def _rarest(gates: tuple[str, ...]) -> str:
    shared = [sign for sign in gates[0] if sign != " " and all(sign in gate for gate in gates)]
    return min(shared, key=_RAREST_FIRST.find, default="")


@cache
def _shapes() -> list[Gated]:
    """Return the shapes in their order, those with the same gates in one group."""
    return [
        (_rarest(gates), gates, [partial(_compiled(shape.pattern).sub, _replacement(shape.kind)) for shape in group])
        for gates, group in groupby(SHAPES, key=attrgetter("gates"))
    ]


@cache
def _named() -> list[Gated]:
    return [
        (_rarest(gates), gates, [partial(_compiled(form).sub, _replace_named) for _, form in group])
        for gates, group in groupby(NAMED, key=itemgetter(0))
    ]


@cache
def _foreign() -> list[Gated]:
    return [("", FOREIGN_NAMES, [partial(_compiled(FOREIGN).sub, _replace_foreign)])]


def _gated(groups: list[Gated], low: str) -> list[Step]:
    """Return the steps of those patterns that may be found in a text, given in lower case."""
    steps: list[Step] = []
    for sign, gates, replacements in groups:
        if sign in low:
            for gate in gates:
                if gate in low:
                    steps += replacements
                    break
    return steps


_FARTHEST_FLAG: Final = 200  # characters from a command to its flag
_LONGEST_COMMAND: Final = max(len(command) for commands, _ in COMMANDS for command in commands.split())


@cache
def _flags() -> dict[str, re.Pattern[str]]:
    return {
        command: _compiled(rf"""[^\n|;&]{{0,{_FARTHEST_FLAG}}}?[\s"',]-{flag}{ARGUMENT}""")
        for commands, flag in COMMANDS
        for command in commands.split()
    }


@cache
def _any_flag() -> re.Pattern[str]:
    return _compiled(rf"""-(?<=[\s"',]-)(?:{"|".join(flag for _, flag in COMMANDS)})""")


@cache
def _command() -> re.Pattern[str]:
    return _compiled(any_of(_flags(), r"(?![\w-])"))


def _scrub_commands(text: str) -> str:
    """Replace passwords on command lines, behind the short flags of well-known programs."""
    pieces: list[str] = []
    done = at = 0
    # Many programs have flags of these letters, and few texts have any: so the flag is looked for first.
    while flag := _any_flag().search(text, at):
        command = _command().search(text, max(at, flag.start() - _FARTHEST_FLAG - _LONGEST_COMMAND))
        if not command:
            break
        at = command.end()
        found = _flags()[command[0]].match(text, at)
        if found and found.lastgroup and not is_harmless(found[found.lastgroup]):
            start, at = found.span(found.lastgroup)
            pieces += text[done:start], placeholder("password")
            done = at
    return "".join(pieces) + text[done:]


@cache
def _token() -> re.Pattern[str]:
    """Return what finds a token of any kind, in its group, and what stands before it."""
    # None begins in the middle of letters, unless they are an escape: \n in JSON, %3D in a URL.
    before = r"[^A-Za-z0-9](?:(?<=\\)[nrt]|(?<=%)[0-9A-Fa-f]{2})??"
    return _compiled(rf"{before}(?=[A-Za-z0-9]\S{{{SHORTEST_TOKEN - 1}}})({TOKEN})")


@cache
def _named_token(first: str) -> re.Pattern[str]:
    """Return what tells the kind of a token that was found; searching with groups would take five times as long."""
    return _compiled("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in tokens(first).items()))


def _replace_token(match: re.Match[str]) -> str:
    token = match[1]
    if not is_token(token):
        return match[0]
    named = _named_token(token[0]).match(match.string, match.start(1))
    return match[0].removesuffix(token) + placeholder(named.lastgroup if named and named.lastgroup else "token")


def _is_card(match: re.Match[str]) -> bool:
    if match[0].isdigit() and _compiled(NUMBERED).search(match.string[max(0, match.start() - 40) : match.start()]):
        return False
    digits = [int(char) for char in reversed(match[0]) if char.isdigit()]
    return (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 == 0


def _is_basic_auth(match: re.Match[str]) -> bool:
    try:
        return b":" in binascii.a2b_base64(match[0].split()[-1])
    except binascii.Error:
        return False


def _is_auth_plain(match: re.Match[str]) -> bool:
    try:
        return bool({0, ord(":")} & set(binascii.a2b_base64(match[0].split()[-1])))
    except binascii.Error:
        return False


def _is_password_of_user(match: re.Match[str]) -> bool:
    value = match[0][match.end(1) - match.start() :]
    user = match[1].split()[-1].lower()
    return ":*:" in match[1] or (user not in PROSE and (is_unusual(value) or is_random(value)))


def _is_oracle(match: re.Match[str]) -> bool:
    if _compiled(BEHIND_ORACLE).match(match.string, match.end()):
        return True
    return bool(_compiled(BEFORE_ORACLE).search(match.string[max(0, match.start() - 120) : match.start() + 1]))


_CHECKS: Final[dict[str, Callable[[re.Match[str]], bool]]] = {
    "card_number": _is_card,
    "basic_auth": _is_basic_auth,
    "auth_plain": _is_auth_plain,
    "redis_password": _is_password_of_user,
    "pgpass_password": _is_password_of_user,
    "oracle_password": _is_oracle,
}


@cache
def _replacement(kind: str) -> Replace:
    check = _CHECKS.get(kind)

    def replace(match: re.Match[str]) -> str:
        if check and not check(match):
            return match[0]
        before, after = (*match.groups(""), "", "")[:2]
        return before + placeholder(kind) + after

    return replace


def names_secret(name: str) -> bool:
    """Tell whether some values under this *name* must not be seen."""
    return secret_name(name[-80:]) is not None


def is_secret(name: str, value: object) -> bool:
    """Tell whether a *value* under this *name* must not be seen."""
    found = secret_name(name[-80:])
    if found is None or value is None or isinstance(value, bool):
        return False
    return not found.proof or (isinstance(value, str) and _looks_secret(found, value))


def _looks_secret(named: SecretName, value: str) -> bool:
    match named.proof:
        case "long":
            return bool(_compiled(r"[A-Za-z0-9]{8}").search(value))
        case "digits":
            return bool(_compiled(r"\d{4,8}").fullmatch(value.strip(".,:;!?)]}")))
        case "random":
            return is_random(value)
        case "generated":
            return is_generated(value)
        case "unusual":
            return is_unusual(value) or is_random(value)
        case _:
            return True


def _scrub_pairs(text: str) -> str:
    """Replace the values that stand behind secret names, however the two are written together."""
    if not _compiled(JOINS).search(text):
        return text
    pieces: list[str] = []
    done = at = 0
    search = _compiled(PAIR if text.isascii() else WIDE_PAIR).search
    low = text.lower()
    if len(low) != len(text):
        low = "".join(char.lower() if char.isascii() else char for char in text)
    if _OPENING in low:  # a placeholder names what was there, and no value follows it
        for mark in set(_compiled(_PLACEHOLDER).findall(low)):
            low = low.replace(mark, "." * len(mark))
    while part := part_of_a_name().search(low, at):
        start = part.start()
        while start > at and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
            start -= 1
        pair = search(text, max(at, start - 3))
        if pair is None:
            break
        at = pair.end()
        name, before = _name_of(pair)
        named, shortest = _named_by_pair(pair, name, before)
        if named and (span := _value_span(pair, name, before, named, shortest)):
            pieces += text[done : span[0]], placeholder(named.kind)
            done = at = span[1]
    return "".join(pieces) + text[done:]


def _replace_named(match: re.Match[str]) -> str:
    """Replace a value whose name stands elsewhere than before it."""
    name = match["name"][-80:]
    named = secret_name(name)
    groups = match.groupdict()
    way = next(way for way in ("double", "single", "value") if groups.get(way))
    body = match[way]
    if not named or not _looks_secret(named, body) or _is_no_value(body):
        return match[0]
    start, end = match.start(way) - match.start(), match.end(way) - match.start()
    return match[0][:start] + placeholder(named.kind) + match[0][end:]


def _replace_foreign(match: re.Match[str]) -> str:
    """Replace a value behind a foreign name, unless it is a word: that may begin a statement about the password."""
    value = match["value"].rstrip(".,:;!?)]}")
    if _is_no_value(value) or not (is_unusual(value) or is_random(value)):
        return match[0]
    return match[0][: match.start("value") - match.start()] + placeholder("password") + match["value"][len(value) :]


def _scrub_rows(text: str) -> str:
    """Replace the values of secret columns in SQL that inserts rows."""
    pieces: list[str] = []
    done = 0
    for insert in _compiled(INSERT).finditer(text):
        columns = (secret_name(column.strip(" `\"'[]\n\t")[-80:]) for column in insert["columns"].split(","))
        secret = {place: named for place, named in enumerate(columns) if named}
        if insert.end() < done or not secret:
            continue
        parameters = _compiled(PARAMETERS).match(text, insert.end())
        for start, end, column in _secret_items(text, (parameters or insert).end(), secret):
            body, named = text[start:end], secret[column]
            if body and (not named.proof or _looks_secret(named, body)) and not _is_no_value(body):
                pieces += text[done:start], placeholder(named.kind)
                done = end
    return "".join(pieces) + text[done:]


@lru_cache(maxsize=64)
def _plain_row(columns: tuple[int, ...]) -> re.Pattern[str]:
    """Return what finds a plain row, and in three groups for each of the *columns* its value, however it is quoted."""
    before = 0
    items: list[str] = []
    for column in columns:
        items += f"(?:{PLAIN_ITEM},){{{column - before}}}", SECRET_ITEM, ","
        before = column + 1
    return re.compile(rf"[\s,]{{0,16}}+\({''.join(items[:-1])}(?:,{PLAIN_ITEM})*+\)", re.ASCII)


def _secret_items(text: str, at: int, columns: Collection[int]) -> Iterator[tuple[int, int, int]]:
    """Find the values of these *columns* in the rows that start *at*: start, end and column of each."""
    plain_row = _plain_row(tuple(columns))
    while True:
        while row := plain_row.match(text, at):
            at = row.end()
            for place, column in enumerate(columns):
                if len(columns) == 1 and row.lastindex:
                    yield *row.span(row.lastindex), column
                    break
                for group in range(3 * place + 1, 3 * place + 4):
                    if row.start(group) >= 0:
                        yield *row.span(group), column
        depth = column = 0
        for item in _compiled(ROW_ITEM).finditer(text, at):
            at = item.end()
            way = item.lastgroup
            if way == "comma":
                column += depth == 1
            elif way == "opening":
                depth, column = depth + 1, 0 if depth == 0 else column
            elif way == "closing":
                depth -= 1
                if depth <= 0:
                    break
            elif way is None:
                continue
            elif depth == 0 or (way == "bare" and item["bare"].lower() in ("insert", "replace")):
                return
            elif column in columns and (way != "bare" or (depth == 1 and text[at : at + 1] != "(")):
                yield *item.span(way), column  # also what is given to a function: crypt('…', gen_salt('bf'))
        else:
            return


@cache
def _prose_pattern() -> re.Pattern[str]:
    """Return what finds, in lower case, a noun that a sentence goes on behind."""
    return _compiled(any_of(NOUNS, r"""(?![\w-])["'`*]{0,2}(?:[ \t|(]|[.,][ \t])"""))


def _replace_in_prose(match: re.Match[str]) -> str:
    """Replace a value that a sentence speaks of: "the password is …", "Incorrect API key provided: …"."""
    before = match.string[max(0, match.start() - 100) : match.start()]
    words = _compiled(r"[\w.-]*+").findall(before.rpartition(" ")[2])
    joined = words[-2] if len(words) > 1 else ""
    first = before[:-1].rpartition(" ")[2] if before.endswith(" ") else ""
    noun = match[0][: match.end("noun") - match.start()]
    name = joined + noun
    spoken = f"{first}_{name}" if first else name
    if name.lower() == "pass" or is_harmless_name(spoken.replace("_", "").lower()):
        return match[0]
    named = secret_name(name)
    if named is None or named.proof:
        named = secret_name(spoken) or named
    if named is None:
        return match[0]
    way = "quoted" if match["quoted"] else "enclosed" if match["enclosed"] else "bare"
    body = match[way]
    body = body.rstrip(".,:;!?)]}") if way == "bare" else body
    if _is_no_value(body) or body.lower() in PROSE or _is_sentence(body):
        return match[0]
    is_announced = (match["colon"] or "").endswith((":", "="))
    is_last = match.string[match.end() : match.end() + 1] in ("", "\n")
    is_code = noun.lower() == "passcode" or (named.kind == "password" and not match["link"])
    if is_code and _compiled(r"\d{4,8}").fullmatch(body):
        is_value = True  # a passcode
    elif way == "quoted" and _compiled(r"(?:~|\.{1,2})?/[\w./ -]+|[A-Z]:\\.+").fullmatch(body):
        is_value = False  # the file that it is for
    else:
        is_value = _is_prose_value(named, body, is_announced=is_announced, is_last=is_last, is_quoted=way == "quoted")
    if not is_value:
        return match[0]
    start = match.start(way) - match.start()
    return match[0][:start] + placeholder(named.kind) + match[0][start + len(body) :]


def _is_prose_value(named: SecretName, body: str, *, is_announced: bool, is_last: bool, is_quoted: bool) -> bool:
    if named.proof == "long" and not is_announced and not is_quoted:
        return is_unusual(body) or is_random(body)
    if named.proof:
        return _looks_secret(named, body)
    if named.kind == "security_code":
        return bool(_compiled(r"[A-Z0-9-]{4,12}").fullmatch(body)) and any(map(str.isdigit, body))
    if named.kind == "credentials":
        return bool(_compiled(r"[\w.@+-]{1,64}[:/](?!/)\S{3,}").fullmatch(body)) or is_random(body)
    if is_announced and " " not in body:
        return is_unusual(body) or is_random(body) or (named.kind == "password" and is_last)
    if named.kind == "password":
        return is_quoted or is_unusual(body) or bool(_compiled(PASSPHRASE).fullmatch(body))
    return is_random(body) or (len(body) >= 12 and is_unusual(body))


def _is_no_value(body: str) -> bool:
    return is_harmless(body) or is_wording(body)


def _named_by_pair(pair: re.Match[str], name: str, before: str) -> tuple[SecretName | None, int]:
    """Return what the name announces ("api_key", "API key"), and how long a value must be to count."""
    sign = pair["sign"]
    word = before.rstrip(" ").rpartition(" ")[2] if before.endswith(" ") else ""
    if word.rstrip("\"'.,;:)").endswith("]"):
        word = ""  # a placeholder, whose name says nothing of what follows
    named = _named_in_words(name, word, has_sign=bool(sign))
    if named is None and word and name.lower() == "string" and not pair["item"] and not pair["tag"]:
        spoken = secret_name(f"{word}_{name}")  # community string '…'
        return (SecretName(spoken.kind, spoken.proof or "unusual") if spoken else None), 1
    if named is None or named.proof:
        in_query = before.endswith(("?", "&")) or (pair["escape"] or "").upper() in ("%3F", "%26")
        if in_query and sign and name.lower() in QUERY_NAMES:
            return SecretName("key", "random"), 1
        if named is None:
            return None, 0
    if sign or pair["flag"]:
        return named, 3 if named.kind == "security_code" else 1
    if pair["item"]:
        if named.kind in ("authorization", "cookie"):
            return named, 1
        is_first = before.endswith(("('", '("', "['", '["'))  # of two that belong together, or of a list of names
        return (SecretName(named.kind, named.proof or "unusual") if is_first else None), 1
    if pair["tag"]:
        return (named if _compiled(r"<[\w:]*\Z").search(before) else None), 1
    return named, 1 if named.kind == "password" else 16


@lru_cache(maxsize=1024)
def _named_in_words(name: str, before: str, *, has_sign: bool) -> SecretName | None:
    spoken = f"{before}_{name}" if before else name
    if is_harmless_name(spoken.replace("_", "").lower()):
        return None
    named = secret_name(name)
    if (named is None or named.proof) and has_sign and before:
        return secret_name(spoken) or named
    return named


def _name_of(pair: re.Match[str]) -> tuple[str, str]:
    """Return the name and the few characters before it."""
    start = pair.start("flag") if pair["flag"] else pair.start("name")
    return (pair["flag"] or pair["name"])[-80:], pair.string[max(0, start - 24) : start]


def _value_span(
    pair: re.Match[str], name: str, before: str, named: SecretName, shortest: int
) -> tuple[int, int] | None:
    """Return where the secret behind a name starts and ends, or None if what stands there is none."""
    pattern = _value_pattern(pair, name, before)
    if _compiled(REDACTED if pattern is _bare_value() else REDACTED_LINE).match(pair.string, pair.end()):
        return None
    sign = (pair["sign"] or "").rstrip("*")
    is_loose = pair["flag"] or sign.endswith((":", "\uff1a", "->"))
    word = _compiled(FIRST_WORD).match(pair.string, pair.end()) if is_loose else None
    if word and (word[1].lower() in PROSE or (word[2] and (len(word[1]) < 4 or word[2] in _AFTER_A_SUBJECT))):
        return None
    below = _compiled(NEXT_LINE).match(pair.string, pair.end()) if sign.endswith(":") else None
    value = below or pattern.match(pair.string, pair.end())
    if value is None or value.lastindex is None:
        return None
    start, end = value.span(value.lastindex)
    body = pair.string[start:end]
    is_quoted = value.lastindex <= QUOTED_WAYS and not pair["tag"] and not below
    if not is_quoted and body.startswith("(") and sign:
        start, body = start + 1, body[1:]
    if len(body) < shortest or is_harmless(body) or (named.kind == "signature" and pair.string[start - 1] == "("):
        return None  # that of a function lists what it takes
    if not _looks_secret(named, body) or _is_about(pair, name, body) or _is_looked_for(pair, name, start, body):
        return None
    if is_loose and (
        body.rstrip(".!").lower() in PROSE or (_is_sentence(body) if is_quoted else not any(map(str.isalnum, body)))
    ):
        return None
    if not is_quoted:
        bare = body.rstrip(")]}")
        # The bracket of a placeholder belongs to it.
        end = start + len(bare) + (bare.rfind(_OPENING) > bare.rfind("]"))
    return (start, end) if start < end else None


_SCHEMES: Final = frozenset(
    [
        "basic",
        "bearer",
        "digest",
        "oauth",
        "oauth2",
        "token",
        "apikey",
        "api_key",
        "negotiate",
        "ntlm",
        "jwt",
        "anonymous",
    ]
)
_AFTER_A_SUBJECT: Final = frozenset(("must", "should", "cannot", "may", "do", "does", "of"))


def _is_about(pair: re.Match[str], name: str, body: str) -> bool:
    """Tell whether a value only repeats the name, or names the secret instead of showing it."""
    if is_wording(body):
        return True
    plain = body.strip(".,;:!?)]}'\"").lower()
    low = name.lower()
    if (plain.isdigit() and low == "pass") or (plain in _SCHEMES and low.endswith("auth")):
        return True
    if low.endswith(plain) and (plain == low or plain == _compiled(r"[\W_]").split(low)[-1]):
        return True
    if not _compiled(r"[A-Za-z_.,()\[\]-]+").fullmatch(body):
        return False
    words = set(_compiled(r"[a-z]+").findall(plain))
    if secret_name(plain.strip("[(,")[-80:]) is None and not words <= NAME_WORDS:
        return False
    return bool(_compiled(ABSENCE).search(pair.string[max(0, pair.start() - 40) : pair.start()].lower()))


def _is_looked_for(pair: re.Match[str], name: str, start: int, body: str) -> bool:
    """Tell whether a value is the name of something that was looked for and not found, and no secret itself."""
    if name.lower() not in LOOKED_FOR:
        return False
    if body.startswith("arn:"):
        return True
    if is_unusual(body) or is_random(body):
        return False
    text = pair.string
    return bool(
        _compiled(LOOKUP).search(text[max(0, pair.start() - 40) : pair.start()].lower())
        or _compiled(NOT_FOUND).match(text, start + len(body))
    )


def _value_pattern(pair: re.Match[str], name: str, before: str) -> re.Pattern[str]:
    flat = name.lower()
    if pair["tag"]:
        return _compiled(TAGGED)
    if flat.endswith(("authorization", "mnemonic", "phrase")) or flat in ("cookie", "set-cookie"):
        return _line_value(before[-1] if before.endswith(("'", '"')) else "")
    return _field_value() if before.endswith(";") and pair["sign"] else _bare_value()


@cache
def _line_value(quote: str) -> re.Pattern[str]:
    return _compiled(QUOTED + LINE.replace("QUOTE", quote))


@cache
def _field_value() -> re.Pattern[str]:
    return _compiled(QUOTED + FIELD)


@cache
def _bare_value() -> re.Pattern[str]:
    return _compiled(QUOTED + BARE)


def _is_sentence(body: str) -> bool:
    words = [word.strip(".,;:!?()'…").lower() for word in body[:200].split()]
    return len(words) > 1 and words[0] in PROSE and not PROSE.isdisjoint(words[1:])


# Shortcuts: they tell that a text surely holds no secret in a fraction of the time that looking for secrets takes. Each
# answer is certain where it says so; else one has to look.

# Most messages are plain: short printable words, none with a sign that joins a name to a value, no groups of digits. No
# secret can be written that way, unless it follows one of a few words.
_PLAIN: Final = r"(?:[!-#&-9;<?-~]{0,14}+ (?![0-9]{4}(?:[ -]|[0-9]{4})))*+[!-#&-9;<?-~]{0,14}+\Z"
# Many are only words. One without a digit, a quote or a sign is no value, whatever it follows.
_WORDS: Final = r"(?:[A-Za-z_.,;]{0,14}+ )*+[A-Za-z_.,;]{0,14}+\Z"


def is_plain(text: str) -> bool:
    """Tell whether a text consists of short words that surely are no secret, and of nothing that is not seen."""
    if not _compiled(_PLAIN).match(text) or "@" in text:
        return False
    low = text.lower()
    if not (
        ("k" in low and ("key" in low or "token" in low or "cookie" in low))
        or ("c" in low and ("cre" in low or "code" in low or "cv" in low))  # "cre" is in secret and in credentials
        or ("ss" in low and ("pass" in low or "ssn " in low))
        or ("p" in low and ("otp" in low or "pin " in low or ("w" in low and "pw" in low)))
        or ("b" in low and ("bearer" in low or "basic" in low or "rabbitmqctl" in low))
        or ("-" in low and (low[0] == "-" or " -" in low or "'-" in low or '"-' in low))
        or ("h" in low and "auth" in low)
        or ("g" in low and "login" in low)
        or ("f" in low and "identified" in low)
        or "net user" in low
    ):
        return True
    return bool(_compiled(_WORDS).match(text)) and not (
        ("PASS " in text or "AUTH " in text or "bearer" in low or "basic" in low)
        or ("login" in low or "identified" in low or "rabbitmqctl" in low)
    )


def holds_json(text: str) -> bool:
    """Tell whether a text may be an object or an array in JSON, whose escapes can hide what surrounds a secret."""
    first = text[:1]
    return (text.lstrip()[:1] if first.isspace() else first) in ("{", "[")


def has_gate(low: str) -> bool:
    """Tell whether a text, in lower case, may hold anything with the shape of a secret: one of the gates of the table.

    The rarest sign of a gate is looked for first: to look for one character is much faster.
    """
    return (
        ("@" in low or "$" in low or "login" in low or "auth " in low)
        or ("b" in low and ("bearer" in low or "basic " in low or "bind" in low))
        or ("k" in low and ("hook" in low or "kty" in low))
        or ("ia" in low and ("akia" in low or "asia" in low))
        or ("q" in low and "rabbitmqctl " in low)
        or ("-" in low and ("-u" in low or "--" in low or "sudo -s" in low or "private-lines:" in low))
        or ("pass " in low or "identified" in low or "net user " in low or ":5432:" in low)
        or ("/" in low and ("/user:" in low or "/p:" in low))
        or ("{" in low and ("{ssha" in low or "{crypt}" in low))
        or ("%" in low and "%40" in low)
        or ("*" in low and ":*:" in low)
    )


def has_token(text: bytes) -> bool:
    """Tell whether a word of a text holds what begins like a token and may go on like one."""
    words = long_words(text)
    if len(words) > 3 and not may_hold_a_token(b" ".join(words)):
        return False
    odd = [word for word in words if may_hold_a_token(word)]
    return bool(odd) and _token().search(" " + b" ".join(odd).decode()) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
