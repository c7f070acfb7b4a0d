"""Blobs over HTTP: bytes in, the same bytes out, for those who reach the room and nobody else."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import subprocess
import threading
from collections.abc import Generator
from pathlib import Path
from typing import cast
from urllib.parse import quote

import pytest

from tests.http.running import Client, Json, RunningHub
from tests.waiting import until

MIB = 1024 * 1024


def put(client: Client, room: str, content: bytes, query: str = "") -> Json:
    reply = client.request("PUT", f"/v1/blobs.put?room_id={room}{query}", content)
    assert reply.status == 200, reply.body
    return reply.json


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_what_goes_in_comes_out(user: Client, room: str) -> None:
    content = os.urandom(3 * MIB + 7)

    stored = put(user, room, content, "&mime_type=image/png&name=picture.png")
    reply = user.get(f"/v1/blobs/{sha256(content)}")

    assert stored == {
        "sha256": sha256(content),
        "path": f"blobs/{sha256(content)}",
        "size": len(content),
        "mime_type": "image/png",
        "name": "picture.png",
        "seq": 2,
    }
    assert reply.body == content
    assert {name: reply.headers[name] for name in ("content-type", "content-disposition", "etag")} == {
        "content-type": "image/png",
        "content-disposition": "inline; filename*=UTF-8''picture.png",
        "etag": f'"{sha256(content)}"',
    }
    assert (reply.headers["x-content-type-options"], reply.headers["content-security-policy"]) == (
        "nosniff",
        "default-src 'none'; sandbox",
    )


def test_the_room_learns_of_its_blob(user: Client, room: str) -> None:
    put(user, room, b"hello", "&mime_type=text/plain&name=a.txt")

    (event,) = cast("list[Json]", user.call("events.list", room_id=room, since_seq=1)["events"])
    assert (event["kind"], event["by"], event["data"]) == (
        "x.tally.blob.put",
        "user",
        {"sha256": sha256(b"hello"), "bytes": 5, "mime_type": "text/plain", "name": "a.txt"},
    )


def test_the_same_content_twice_is_one_blob(user: Client, room: str) -> None:
    first = put(user, room, b"once", "&name=first")

    again = put(user, room, b"once", "&name=second")

    assert again == first
    assert user.call("events.list", room_id=room)["head"] == 2


def test_small_files_travel_inside_an_operation(user: Client, room: str) -> None:
    content = os.urandom(1000)

    stored = user.call("blobs.put", room_id=room, content_base64=base64.b64encode(content).decode(), name="x")
    got = user.call("blobs.get", room_id=room, sha256=stored["sha256"])

    assert got == {"blob": stored, "content_base64": base64.b64encode(content).decode()}
    assert user.get(f"/v1/blobs/{sha256(content)}").body == content


def test_an_empty_file_is_a_file(user: Client, room: str) -> None:
    put(user, room, b"")

    assert user.get(f"/v1/blobs/{sha256(b'')}").body == b""


@pytest.mark.parametrize(
    "kind", ["text/html", "image/svg+xml", "application/pdf", "application/javascript", "text/xml"]
)
def test_what_a_browser_might_run_is_offered_as_a_download(user: Client, room: str, kind: str) -> None:
    content = f"<script>alert('{kind}')</script>".encode()
    put(user, room, content, f"&mime_type={quote(kind, safe='/')}&name=x.html")

    reply = user.get(f"/v1/blobs/{sha256(content)}")

    assert reply.headers["content-disposition"].startswith("attachment")
    assert reply.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_a_name_cannot_break_out_of_its_header(user: Client, room: str) -> None:
    name = 'a"; evil="1\N{SNOWMAN}.txt'
    put(user, room, name.encode(), f"&name={quote(name)}")

    reply = user.get(f"/v1/blobs/{sha256(name.encode())}")

    assert reply.headers["content-disposition"] == f"attachment; filename*=UTF-8''{quote(name, safe='')}"


@pytest.mark.parametrize(
    "query",
    [
        "&name=a/b",
        "&name=a%5Cb",
        "&name=a%0Ab",
        "&mime_type=text",
        "&mime_type=a/b%0D%0Ax:y",
        "&nmae=x",
        "&name=a&name=b",
    ],
)
def test_a_bad_description_is_refused(user: Client, room: str, query: str) -> None:
    assert user.request("PUT", f"/v1/blobs.put?room_id={room}{query}", b"x").status == 400


@pytest.mark.parametrize(
    "name",
    [
        "..%2f..%2ftoken",
        "../token",
        "%2e%2e%2ftoken",
        "..%252ftoken",
        "token",
        "part-0000000000000000",
        "A" * 64,
        "0" * 63,
        "0" * 64 + "%00",
        "0" * 64 + "/..",
    ],
)
def test_no_address_leads_out_of_the_folder(user: Client, room: str, name: str) -> None:
    put(user, room, b"inside")

    reply = user.get(f"/v1/blobs/{name}")

    assert reply.status == 404
    assert b"tally_" not in reply.body


def test_a_blob_belongs_to_its_room(hub: RunningHub, user: Client, room: str) -> None:
    content = os.urandom(16)
    put(user, room, content)
    other = user.room()
    stranger, member = hub.agent("stranger", other), hub.agent("member", room)

    replies = [
        stranger.get(f"/v1/blobs/{sha256(content)}"),
        stranger.get(f"/v1/blobs/{sha256(content)}?room_id={room}"),
        user.get(f"/v1/blobs/{sha256(content)}?room_id={other}"),
        stranger.request("PUT", f"/v1/blobs.put?room_id={room}", b"x"),
    ]

    assert [reply.refused for reply in replies] == [
        (404, "blob_not_found"),
        (403, "other_room"),
        (404, "blob_not_found"),
        (403, "other_room"),
    ]
    assert member.get(f"/v1/blobs/{sha256(content)}").body == content


def test_an_unknown_room_takes_no_content(hub: RunningHub, user: Client) -> None:
    content = os.urandom(16)

    reply = user.request("PUT", "/v1/blobs.put?room_id=nowhere", content)

    assert reply.refused == (404, "room_not_found")
    assert not (hub.data_dir / "blobs" / sha256(content)).exists()


def test_too_large_a_file_is_refused_and_leaves_nothing(process_hub: RunningHub) -> None:
    user = process_hub.user
    room = user.room()
    before = sorted((process_hub.data_dir / "blobs").iterdir()) if (process_hub.data_dir / "blobs").exists() else []

    announced = user.request("PUT", f"/v1/blobs.put?room_id={room}", b"x" * (32 * MIB + 1))
    hidden = _chunked(process_hub, room, b"x" * MIB, 33)

    assert (announced.refused, hidden) == ((413, "too_large"), 413)
    assert sorted((process_hub.data_dir / "blobs").iterdir()) == before


def test_an_upload_that_breaks_off_leaves_nothing(process_hub: RunningHub) -> None:
    user = process_hub.user
    room = user.room()
    put(user, room, b"so that the folder is there")
    folder = process_hub.data_dir / "blobs"
    before = sorted(folder.iterdir())
    wire = socket.create_connection(("127.0.0.1", process_hub.port))
    wire.sendall(_head(process_hub, room, f"Content-Length: {4 * MIB}") + b"x" * (2 * MIB))
    until(lambda: len(list(folder.iterdir())) > len(before))

    wire.close()

    until(lambda: sorted(folder.iterdir()) == before)


def test_a_browser_that_has_it_already_gets_no_second_copy(user: Client, room: str) -> None:
    put(user, room, b"known")

    reply = user.get(f"/v1/blobs/{sha256(b'known')}", If_None_Match=f'"{sha256(b"known")}"')

    assert (reply.status, reply.body) == (304, b"")


def test_a_part_can_be_asked_for(user: Client, room: str) -> None:
    put(user, room, b"0123456789")

    reply = user.get(f"/v1/blobs/{sha256(b'0123456789')}", Range="bytes=2-4")

    assert (reply.status, reply.body) == (206, b"234")


@pytest.mark.parametrize("wanted", ["bytes=900-", "bytes=-0", "bytes=a-b", "bytes=3-2", "items=1"])
def test_a_part_that_there_is_not_is_refused_like_everything_else(user: Client, room: str, wanted: str) -> None:
    put(user, room, b"0123456789")

    reply = user.get(f"/v1/blobs/{sha256(b'0123456789')}", Range=wanted)

    assert (reply.refused, reply.error["details"]) == ((416, "no_such_range"), {"size": 10})
    assert reply.headers["content-range"] == "bytes */10"


def test_uploads_at_the_same_time_do_not_mix(user: Client, room: str) -> None:
    contents = [os.urandom(MIB) for _ in range(8)]
    sending = [threading.Thread(target=put, args=(user, room, content)) for content in contents]
    for each in sending:
        each.start()
    for each in sending:
        each.join()

    assert [user.get(f"/v1/blobs/{sha256(content)}").body for content in contents] == contents


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path]:
    """A folder on a disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=False)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_refuses_blobs_and_events_and_recovers(small_disk: Path) -> None:
    hub = RunningHub(small_disk / "data").start()
    try:
        user = hub.user
        room = user.room()
        seq = user.append(room, before=True)

        refused = user.request("PUT", f"/v1/blobs.put?room_id={room}", os.urandom(6 * MIB))
        after_blob = user.append(room, still="possible")

        filler = small_disk / "filler"
        subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4k"], capture_output=True, check=False)
        full = [user.post("events.append", _big(room)) for _ in range(4)]
        filler.unlink()
        recovered = user.append(room, after=True)

        assert refused.refused == (503, "disk_full")
        assert list((hub.data_dir / "blobs").iterdir()) == []
        assert full[-1].refused == (503, "disk_full")
        assert after_blob == seq + 1
        accepted = sum(reply.status == 200 for reply in full)
        assert recovered == after_blob + accepted + 1
        assert user.call("events.verify", room_id=room)["ok"] is True
    finally:
        hub.stop()


def _big(room: str) -> Json:
    return {"room_id": room, "kind": "x.test.event", "data": {"padding": "x" * 200_000}}


def _head(hub: RunningHub, room: str, *lines: str) -> bytes:
    fields = [f"PUT /v1/blobs.put?room_id={room} HTTP/1.1", f"Host: 127.0.0.1:{hub.port}"]
    return "\r\n".join([*fields, f"Authorization: Bearer {hub.user.token}", *lines, "", ""]).encode()


def _chunked(hub: RunningHub, room: str, chunk: bytes, times: int) -> int:
    """Send a body without saying how long it is; the status that comes back."""
    wire = socket.create_connection(("127.0.0.1", hub.port))
    wire.sendall(_head(hub, room, "Transfer-Encoding: chunked", "Connection: close"))
    for _ in range(times):
        wire.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
    answer = wire.recv(65536)
    wire.close()
    return int(answer.split()[1])
