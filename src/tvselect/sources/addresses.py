"""Addresses of remote tables: their secrets are hidden, and requests have time limits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tvselect.inputs.arrow import load
from tvselect.inputs.errors import SourceError, first_line

CONNECT_SECONDS, REQUEST_SECONDS, ATTEMPTS = 10.0, 30.0, 3
BUCKETS = ("s3", "gs", "gcs")  # schemes whose host is the name of a bucket
AZURE, AZURE_HOST = ("abfs", "abfss"), re.compile(r"[A-Za-z0-9._-]*")
S3_OPTIONS = ("region", "scheme", "endpoint_override")
BY_FSSPEC = ("http", "https")
HIDDEN = "***"
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
IN_TEXT = re.compile(rf"{ADDRESS.pattern}[^\s'\"]*")
HOST, PATH = re.compile(r"[^/?#]*"), re.compile(r"[^?#]*")
OPTION = re.compile(r"([?&#])([^=&#?]+)(?:=([^&#]*))?")
NAME = re.compile(r"[A-Za-z_]+")  # of an option; keys hold digits and signs
REGION = re.compile(r"[A-Za-z0-9-]+")
WORD = re.compile(r"\w{3,}")


def without_secrets(text: str) -> str:
    """A text whose addresses are without keys, passwords and options but the region."""
    if ADDRESS.match(text):
        return _without_secrets(text)
    return IN_TEXT.sub(lambda found: _without_secrets(found[0]), text)


def argument_without_secrets(argument: str) -> str:
    """:func:`without_secrets` of an argument such as ``--table=s3://...``."""
    found = ADDRESS.search(argument)
    start = found.start() if found else len(argument)
    return argument[:start] + without_secrets(argument[start:])


def _without_secrets(address: str) -> str:
    scheme, _, rest = address.partition("://")
    host, path = HOST.match(rest)[0], PATH.match(rest)[0]  # type: ignore[index]
    may_be_port = scheme.lower() not in BUCKETS and host.rpartition(":")[2].isdigit()
    if "@" in host:
        rest = f"{HIDDEN}@{host.rpartition('@')[2]}{rest[len(host) :]}"
    elif ":" in host and ("@" in path or not may_be_port):
        # A secret with an unescaped slash is not a valid address, but must be hidden, too.
        _, mark, tail = path.rpartition("@")
        rest = f"{HIDDEN}{mark}{tail if mark else ''}{rest[len(path) :]}"
    path = PATH.match(rest)[0]  # type: ignore[index]
    return f"{scheme}://{path}{OPTION.sub(_hide, rest[len(path) :])}"


def _hide(option: re.Match[str]) -> str:
    mark, name, value = option.groups()
    if value is None or not NAME.fullmatch(name):
        return f"{mark}{HIDDEN}"
    is_shown = name == "region" and REGION.fullmatch(value)
    return f"{mark}{name}={value if is_shown else HIDDEN}"


@contextmanager
def errors_at(address: str) -> Iterator[None]:
    """Turn errors into a SourceError; a message with a word that the address hides is left out."""
    try:
        yield
    except SourceError:
        raise
    except (load("pyarrow").ArrowException, OSError, ImportError, ValueError, LookupError) as error:
        seen = without_secrets(address)
        words, shown = ({*WORD.findall(a), *WORD.findall(unquote(a))} for a in (address, seen))
        hidden, told = words - shown, str(error) + unquote(str(error))
        is_told = not any(word in told for word in hidden)
        reason = first_line(error) if is_told else type(error).__name__
        raise SourceError(
            f"{seen} cannot be reached: {reason}",
            "look at the address and the access rights; in a key, signs such as / are written as "
            "%2F",
        ) from None


def may_come_from_a_file(table: str) -> bool:
    """Whether an address is safe to open: a local path or bucket, to no host that gets keys."""
    if "://" not in table:
        return True
    try:
        parts = urlsplit(table)
    except ValueError:
        return False
    names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    return (
        parts.scheme.lower() in BUCKETS
        and not {"@", ":"} & set(parts.netloc)
        and names <= {"region"}
        and without_secrets(table) == table
    )


def open_remote(url: str) -> tuple[Any, str]:
    """The Arrow file system of an address, by fsspec if Arrow has none, and the path in it."""
    fs = load("pyarrow.fs")
    with errors_at(url):
        parts = urlsplit(url)
        scheme = parts.scheme.lower()
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        if scheme == "s3":
            return _open_s3(fs, parts, options)
        if scheme in AZURE and not AZURE_HOST.fullmatch(parts.hostname or ""):
            raise ValueError("no name of an account")  # its library would end the process
        if scheme in BUCKETS and "retry_limit_seconds" not in options:
            limit = f"retry_limit_seconds={ATTEMPTS * REQUEST_SECONDS:g}"
            url = f"{url}{'&' if parts.query else '?'}{limit}"
        if scheme in BY_FSSPEC or scheme.startswith("fsspec+"):
            if without_secrets(url) != url:
                raise ValueError("keys and options are for buckets alone; download the file")
            url = f"fsspec+{url}" if scheme in BY_FSSPEC else url
        return fs.FileSystem.from_uri(url)


def _open_s3(fs: Any, parts: Any, options: dict[str, str]) -> tuple[Any, str]:
    for name in options.keys() - set(S3_OPTIONS):
        is_name = NAME.fullmatch(name) and options[name]
        told = f"the option {name!r}" if is_name else "an option"
        raise SourceError(
            f"the address of a bucket has {told} that is not known", f"use {', '.join(S3_OPTIONS)}"
        )
    _, _, bucket = parts.netloc.rpartition("@")
    user, password = parts.username, parts.password
    if not bucket or ":" in bucket or (user is None) != (password is None):
        raise ValueError("no bucket, or half a key")
    given = {name: value for name, value in options.items() if value}
    if not {"region", "endpoint_override"} & given.keys():
        given["region"] = fs.resolve_s3_region(bucket)
    filesystem = fs.S3FileSystem(
        access_key=None if user is None else unquote(user),
        secret_key=None if password is None else unquote(password),
        connect_timeout=CONNECT_SECONDS,
        request_timeout=REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
        **given,
    )
    return filesystem, f"{bucket}/{unquote(parts.path).lstrip('/')}".rstrip("/")
