"""Two hubs of two machines on one PostgreSQL: what one took in, the other can give."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.http.asgi import HubHere
from tests.http.running import RunningHub

pytestmark = pytest.mark.postgres
MIB = 1024 * 1024


@pytest.fixture
def hubs(tmp_path: Path, postgres_url: str) -> Generator[list[RunningHub]]:
    hubs = [HubHere(tmp_path / name, database_url=postgres_url).start() for name in ("one", "other")]
    yield list(hubs)
    for hub in hubs:
        hub.stop()


def test_a_file_that_one_hub_took_in_is_read_from_another(hubs: list[RunningHub]) -> None:
    one, other = hubs
    room, content = one.user.room(), base64.b64encode(b"shared").decode()
    one.user.call("blobs.put", room_id=room, mime_type="text/plain", name="a.txt", content_base64=content)
    sha256 = hashlib.sha256(b"shared").hexdigest()

    inline = other.user.call("blobs.get", room_id=room, sha256=sha256)
    streamed = other.user.get(f"/v1/blobs/{sha256}?room_id={room}")

    assert inline["content_base64"] == content
    assert (streamed.status, streamed.body) == (200, b"shared")


@pytest.mark.parametrize(("size", "status"), [(MIB, 200), (MIB + 1, 404)])
def test_a_large_file_stays_on_the_machine_that_took_it(hubs: list[RunningHub], size: int, status: int) -> None:
    one, other = hubs
    room, content = one.user.room(), b"x" * size
    put = one.user.request(
        "POST", f"/v1/blobs.put?room_id={room}&name=large.bin", content, Content_Type="application/octet-stream"
    )
    assert put.status == 200, put.body

    found = other.user.get(f"/v1/blobs/{hashlib.sha256(content).hexdigest()}?room_id={room}")

    assert found.status == status
    assert found.body == content if status == 200 else found.error["code"] == "blob_elsewhere"
