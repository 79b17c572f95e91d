"""Addresses of tables: no secret is shown or kept, no wait is without end."""

from __future__ import annotations

import socket
import sys
import time
import traceback

import pytest

from tvselect.inputs.errors import SourceError
from tvselect.sources import addresses, open_files, open_source
from tvselect.sources.addresses import may_come_from_a_file, without_secrets

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("s3://KEY:s3cr3t@bucket/t.csv", "s3://***@bucket/t.csv"),
        ("s3://KEY:s3cr3t%2Fx@bucket", "s3://***@bucket"),
        ("s3://KEY:s3cr3t/x@bucket/t.csv", "s3://***@bucket/t.csv"),
        ("s3://KEY:s3cr3t?x@bucket/t.csv", "s3://***?***"),
        ("s3://KEY:1234/s3cr3t@bucket/t.csv", "s3://***@bucket/t.csv"),
        ("s3://KEY:s3cr3t", "s3://***"),
        ("gs://bucket/t.csv?s3cr3t&region=eu#s3cr3t", "gs://bucket/t.csv?***&region=eu#***"),
        ("abfs://box@s3cr3t.dfs.core/t.csv?sig=s3cr3t", "abfs://***@s3cr3t.dfs.core/t.csv?sig=***"),
        ("gs://bucket/t.csv?access_token=s3cr3t&region=eu", None),
        ("tcp://me:s3cr3t@head-node:8786", "tcp://***@head-node:8786"),
        ("tcp://head-node:8786", "tcp://head-node:8786"),
        ("s3://bucket/a@b&c/t.csv?region=eu-1", "s3://bucket/a@b&c/t.csv?region=eu-1"),
        ("/data/a@b.csv", "/data/a@b.csv"),
    ],
)
def test_secrets_are_taken_out(address, seen):
    found = without_secrets(f"tvs select '{address}' --target y")
    if seen is None:
        assert SECRET not in found + without_secrets(address)
    else:
        assert found == f"tvs select '{seen}' --target y"
        assert without_secrets(address) == seen


@pytest.mark.parametrize(
    "address",
    [
        "s3://bucket/t.csv?endpoint_override=evil.example",
        "s3://bucket/t.csv?region=eu&scheme=http",
        "s3://KEY:SECRET@bucket/t.csv",
        "s3://***@bucket/t.csv",
        "s3://bucket:80/t.csv",
        "hdfs://evil.example/t.csv",
        "abfs://evil.example/t.csv",
        "http://evil.example/t.csv",
        "s3://[::1/t.csv",
        "s3://bucket/t.csv?%72egion=evil.example/",
        "s3://bucket/t.csv?region=evil.example/",
        "s3://bucket#KEY:SECRET@evil.example/t.csv",
    ],
)
def test_hosts_and_keys_do_not_come_from_files_but_buckets_and_paths_may(address):
    assert not may_come_from_a_file(address)
    for lawful in ("s3://b/t.csv?region=eu", "gs://b/t.csv", "C:/t.csv", "t.csv"):
        assert may_come_from_a_file(lawful)


@pytest.mark.parametrize(
    "address",
    [
        "s3://KEY:s3cr3t/x@bucket/t.csv",
        "s3://KEY:s3cr3t@/t.csv",
        "s3://s3cr3t@bucket/t.csv",
        "s3://KEY:s3cr3t@bucket/t.csv?colour=red",
        "s3://bucket/t.csv?s3cr3t",
        "s3://bucket/t.csv?s3cr3t==",
        "s3://bucket/t.csv?region=eu?token=s3cr3t",
        "gs://KEY:s3cr3t w0rd@bucket/t.csv",
        "gs://h:99999999/t.csv?token=x@s3cr3t",
        "http://KEY:s3cr3t'w0rd@h:1/t.csv",
        "https://KEY:1/s3cr3t@host/t.csv",
        "ftp://KEY:s3cr3t@\u2100/t.csv",
        "ftp://KEY:x\ns3cr3t@\u2100/t.csv",
        "x://h/a b.csv?token=s3cr3t",
        # Hosts with which the library of Azure ends the process.
        "abfss://KEY:s3cr3t@[::1]:9/t.csv",
        "abfss://KEY:s3cr3t@a%3Ax/t.csv",
    ],
)
def test_no_part_of_a_secret_is_in_an_error(address):
    with pytest.raises(SourceError) as raised:
        open_source(address, "y")
    said = "".join(traceback.format_exception(raised.value))
    assert SECRET not in said
    assert "w0rd" not in said


def test_what_a_library_says_of_an_address_is_not_repeated(monkeypatch):
    address = f"gs://KEY:{SECRET}@bucket/t.csv"

    class Elsewhere:
        def get_file_info(self, path):
            raise OSError(f"no answer from {address}")

    monkeypatch.setattr("tvselect.sources.files.open_remote", lambda url: (Elsewhere(), "t.csv"))
    with pytest.raises(SourceError, match=r"gs://\*\*\*@bucket/t.csv cannot be reached: OSError"):
        open_source(address, "y")


def test_a_host_that_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(addresses, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(addresses, "ATTEMPTS", 1)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        host = f"127.0.0.1:{mute.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(SourceError, match="cannot be reached") as error:
            open_files(f"s3://KEY:{SECRET}@bucket/t.csv?scheme=http&endpoint_override={host}")
    assert time.monotonic() - started < 30
    assert SECRET not in str(error.value)


def test_fsspec_opens_what_arrow_does_not_know(monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.get_filesystem_class("memory")
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "https", memory)
    memory().pipe_file("https://host/t.csv", b"a,y\n1,2\n3,4\n")
    assert open_source("https://host/t.csv", "y").names == ("a",)
    for address in ("https://host/t.csv?sig=s3cr3t", "fsspec+https://me:s3cr3t@host/t.csv"):
        with pytest.raises(SourceError, match="keys and options are for buckets alone") as error:
            open_source(address, "y")
        assert SECRET not in str(error.value)
