"""Configuration files of hosts: bounded reads, atomic writes with a backup, and exact restoring."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from failwell.hosts.document import BadConfig, Splice, apply
from failwell.hosts.locations import Location
from failwell.hosts.servers import MemberChange, Server, find_servers, locate, unwrap

LARGEST = 64 << 20
_MOST_BACKUPS = 20


class Config(NamedTuple):
    """A file of a host as it was read."""

    location: Location
    text: str
    servers: tuple[Server, ...]


class Edit(NamedTuple):
    """What is to become of one server, and the text of its table afterwards."""

    server: Server
    changes: tuple[MemberChange, ...]


def read_config(location: Location) -> Config:
    """Return what a file holds.

    Raises:
        BadConfig: it cannot be read or parsed.
    """
    raw = _read(location.file)
    try:
        text = raw.decode()
    except UnicodeDecodeError as broken:
        line = raw.count(b"\n", 0, broken.start) + 1
        column = broken.start - (raw.rfind(b"\n", 0, broken.start) + 1) + 1
        raise BadConfig(f"line {line}, column {column}: it is not UTF-8 text") from None
    return Config(location, text, tuple(find_servers(location.host, text)) if text.strip("\ufeff \t\r\n") else ())


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with the changes of all edits made."""
    splices: list[Splice] = []
    for edit in edits:
        for change in edit.changes:
            place = locate(edit.server, change.before_key, change.before)
            assert place is not None
            splices.append(place._replace(text=change.after))
    return apply(text, splices)


class HostState:
    """The folder with backups of files, and with what was changed in them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def edit_back(self, file: Path, server: Server) -> Edit:
        """Return what takes the proxy away from a server: exactly what was changed, where that still stands there.

        Raises:
            BadConfig: too much was edited since.
        """
        recorded = self._changes(file).get(json.dumps(server.keys))
        if recorded and all(locate(server, change.after_key, change.after) for change in recorded):
            back = (MemberChange(one.after_key, one.after, one.before_key, one.before) for one in recorded)
            return Edit(server, tuple(back))
        return Edit(server, tuple(unwrap(server)))

    def write(self, config: Config, edits: Sequence[Edit], *, is_back: bool) -> Path:
        """Make edits in a file and return where the backup is.

        Raises:
            BadConfig: the file changed since it was read, cannot be written, or would mean something else.
        """
        file = config.location.file.resolve()  # one that is linked stays linked
        new = edited(config.text, edits)
        self._check(config, edits, new)
        changes = self._changes(config.location.file)
        for edit in edits:
            changes.pop(json.dumps(edit.server.keys), None)
            if not is_back:
                changes[json.dumps(edit.server.keys)] = list(edit.changes)
        try:
            mode = file.stat().st_mode & 0o777
            if not mode & 0o222:
                raise BadConfig("it is read-only, so nothing was written")
            backup = self._backup(file, config.text)
            # First: without it there is no exact way back.
            _write(self._record_file(config.location.file), msgspec.json.encode(changes), 0o600)
            if _read(file) != config.text.encode():
                raise BadConfig("it changed since it was read, so nothing was written; try again")
            _write(file, new.encode(), mode)
        except OSError as failed:
            raise BadConfig(f"cannot write it: {failed.strerror or failed}") from None
        return backup

    def _check(self, config: Config, edits: Sequence[Edit], new: str) -> None:
        """Refuse a change that would touch more than the servers it is about."""
        touched = {edit.server.keys for edit in edits}
        before = {server.keys: server.node.value for server in config.servers}
        after = {server.keys: server.node.value for server in find_servers(config.location.host, new)}
        if before.keys() != after.keys() or any(before[keys] != after[keys] for keys in before.keys() - touched):
            raise BadConfig("it is written in a form that cannot be changed in place")

    def _backup(self, file: Path, text: str) -> Path:
        raw = text.encode()
        folder = self._folder / "backups" / f"{file.name}-{_digest(str(file).encode())[:8]}"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        backup = folder / _digest(raw)[:12]
        _write(backup, raw, 0o600)
        by_age = sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime_ns, reverse=True)
        for old in by_age[_MOST_BACKUPS:]:
            old.unlink(missing_ok=True)
        return backup

    def _record_file(self, file: Path) -> Path:
        return self._folder / f"{_digest(str(file.resolve()).encode())[:16]}.json"

    def _changes(self, file: Path) -> dict[str, list[MemberChange]]:
        try:
            return msgspec.json.decode(self._record_file(file).read_bytes(), type=dict[str, list[MemberChange]])
        except (OSError, msgspec.MsgspecError):  # none, or none of ours: the table itself tells what to take away
            return {}


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as failed:
        raise BadConfig(f"cannot read it: {failed.strerror}") from None
    if len(raw) > LARGEST:
        raise BadConfig(f"it is larger than {LARGEST >> 20} MB")
    return raw


def _write(file: Path, raw: bytes, mode: int) -> None:
    """Write a file at once: whoever reads it gets the old or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()
