"""Addresses of tables elsewhere: no secret in any word or file, no connection to anyone.

Every byte of a case chooses a part of an address, so that it is known where the secrets are.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

import pyarrow.fs

from fuzz.targets.base import Target
from fuzz.targets.calls import HarmError, make_run, said_by, small_table
from tvselect.sources import addresses
from tvselect.sources.addresses import (
    argument_without_secrets,
    may_come_from_a_file,
    without_secrets,
)

CORE = "T0PS3CRET"
SECRETS = (
    CORE, f"{CORE}%2Fx", f"{CORE}/x", f"x/{CORE}", f"x+/{CORE}==", f"x {CORE}", f"x'{CORE}",
    f'x"{CORE}', f"x\n{CORE}", f"x\t{CORE}", f"x@{CORE}", f"x:{CORE}", f"x%40{CORE}", f"é{CORE}",
    f"x%zz{CORE}", f"\u202e{CORE}", f"x#{CORE}", f"x?{CORE}", f"x%00{CORE}", f"x\\{CORE}",
    f"x&{CORE}", f"1/{CORE}", f"443/{CORE}", f"x[{CORE}", f"x]{CORE}", f"x\u2028{CORE}",
)  # fmt: skip
SCHEMES = (
    "s3", "S3", "gs", "gcs", "https", "http", "hdfs", "abfs", "abfss", "file", "ftp", "viewfs",
    "s3a", "x-y+z.1", "mock", "sftp",
)  # fmt: skip
USERS = ("KEY:", "", ":", "AKIA0123456789ABCDEF:", "me%40home:", "é:", "KEY::", "a b:", "1:")
HOSTS = (
    "bucket", "evil.example", "evil.example:443", "127.0.0.1:1", "[::1]", "[::1]:9", "[", "bücher",
    "", "a b", "b%75cket", "xn--bcher-kva", "h:99999999", "h:x", "\u2100", "-", "a..b", "B" * 300,
)  # fmt: skip
PATHS = (
    "/t.csv", "", "/", "//", "/a/../t.csv", "/me@home.csv", "/a%2Fb.csv", "/%", "/%zz", "/%00",
    "/a b.csv", "/*.parquet", "/é.csv", "/a:b@c", "/t.csv\n", "/\u202et.csv", "/x" * 500,
)  # fmt: skip
OPTIONS = (
    "", "region=eu", "endpoint_override=evil.example", "scheme=http", "endpoint_override=http://{}",
    "token={}", "access_key={}&secret_key={}", "region=eu&password={}", "{}", "a={}#x", "sig={}&",
    "%72egion={}", "REGION={}", "allow_bucket_creation=true",
    "retry_limit_seconds=1", "x=1;secret={}", "{}==",
)  # fmt: skip
ENDS = ("", "", "", "#", "#{}", "#a={}", "?b={}")
PARTS = (SCHEMES, USERS, SECRETS, HOSTS, PATHS, OPTIONS, ENDS)
NO_USER = 40
"""Of 256 values of a byte: those with which nobody is named before the host."""


def address_of(data: bytes) -> tuple[str, bool]:
    """The address of a case, and whether it holds a secret."""
    data = data.ljust(len(PARTS), b"\0")
    scheme, user, secret, host, path, options, end = (
        part[byte % len(part)] for part, byte in zip(PARTS, data, strict=False)
    )
    if ":" not in user:  # a bare name that ends with a slash is that of a bucket
        secret = secret.replace("/", "%2F")
    who = "" if data[1] >= 256 - NO_USER else f"{user}{secret}@"
    rest = (f"?{options}" if options else "") + end
    if secret.isascii() and not set(secret) & set("&#?;"):  # it would end the option
        rest = rest.replace("{}", secret)
    else:
        rest = rest.replace("{}", CORE)
    return f"{scheme}://{who}{host}{path}{rest}", CORE in who + rest


class _Elsewhere:
    """File systems that answer as the worst of servers would: with the address that was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.n_asked = 0

    def get_file_info(self, path: Any) -> Any:
        """Nobody is reached."""
        self.n_asked += 1
        raise OSError(f"When asking {self.url} for '{path}': no answer")

    type_name = "elsewhere"


@contextmanager
def cut_off(url: str) -> Iterator[_Elsewhere]:
    """Nobody can be reached, but addresses are understood as always."""
    there = _Elsewhere(url)
    real = pyarrow.fs.FileSystem.from_uri

    class Apart:
        """What addresses.py takes from ``pyarrow.fs``."""

        AwsStandardS3RetryStrategy = pyarrow.fs.AwsStandardS3RetryStrategy

        @staticmethod
        def resolve_s3_region(bucket: str) -> str:
            there.n_asked += 1
            raise OSError(f"bucket {bucket!r} not found at {url}")

        @staticmethod
        def S3FileSystem(**settings: Any) -> _Elsewhere:  # noqa: N802
            return there

        class FileSystem:
            @staticmethod
            def from_uri(text: str) -> tuple[Any, str]:
                if text.partition("://")[0].lower() in ("hdfs", "viewfs"):
                    raise OSError(f"Unable to load libjvm for {text}")
                return there, real(text)[1]

    def load(module: str) -> Any:
        return Apart if module == "pyarrow.fs" else import_module(module)

    with patch.object(addresses, "load", load):
        yield there


def prepare(folder: Path) -> None:
    """A run whose table may be said to be anywhere."""
    table = folder / "table.csv"
    table.write_text(small_table())
    make_run(folder / "run", table, 1)
    (folder / "run.json").write_bytes((folder / "run" / "run.json").read_bytes())


def _refuse(text: str, what: str) -> None:
    if CORE in text or CORE in unquote(text):
        raise HarmError(f"{what} holds the secret: {text[:300]!r}")


def read(data: bytes, folder: Path) -> None:
    """Say the address in every way: as a table, as an argument, in a run.json."""
    url, is_secret = address_of(data)
    with cut_off(url) as there:
        said, error = said_by(
            "select", url, "--target", "y", "--no-report", "--out", str(folder / "new")
        )
        from_file = there.n_asked
        record = folder / "run" / "run.json"
        values = json.loads((folder / "run.json").read_bytes())
        values["plan"]["file"]["table"] = url
        record.write_text(json.dumps(values))
        asked, _ = said_by("resume", str(folder / "run"))
        if there.n_asked > from_file and is_secret:
            raise HarmError(f"resume goes where run.json says: {url!r}")
        record.write_bytes((folder / "run.json").read_bytes())
        table, _ = said_by("resume", str(folder / "run"), "--table", url)
        if record.read_bytes() != (folder / "run.json").read_bytes():
            raise HarmError("a refused resume has changed run.json")
    if (folder / "new").exists():
        raise HarmError("a folder was made for a table that is not there")
    again = without_secrets(url)
    if without_secrets(again) != again:
        raise HarmError(f"redacted twice, {again!r} is {without_secrets(again)!r}")
    if is_secret:
        _refuse(said, "tvs select")
        _refuse(asked, "tvs resume")
        _refuse(table, "tvs resume --table")
        _refuse(again, "the address")
        arguments = ["select", url, f"--table={url}"]
        _refuse(shlex.join(map(argument_without_secrets, arguments)), "the command")
        if may_come_from_a_file(url):
            raise HarmError("a file may say it")
    if error is not None:
        raise error


def seeds() -> list[bytes]:
    """Addresses at random; the first one is of a folder that is here."""
    rng = Random(0)
    return [rng.randbytes(len(PARTS)) for _ in range(200)]


TARGETS = (
    Target("address", "addresses with keys, hosts, ports and options, as a table, an argument and "
           "in run.json; nobody is asked", seeds, read, prepare, share=60, quick=8),
)  # fmt: skip
