"""Who gets in: tokens, cookies and sockets, and what neither a web page nor a stranger can do."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from typing import cast

import pytest

from tallystick.hub import tokens
from tallystick.hub.hub import Hub
from tallystick.hub.registry import OPERATIONS
from tallystick.hub.settings import Settings
from tallystick.kernel.operation import Reach
from tests.http.running import Client, Json, Reply, RunningHub, signed_in
from tests.waiting import eventually


def browser(hub: RunningHub) -> Client:
    """A browser that has followed the one-time link."""
    link = cast("str", hub.local.get("/v1/status").json["login"])
    return Client(hub, headers=signed_in(hub, link).headers)


def test_without_a_token_nothing_is_told(hub: RunningHub) -> None:
    reply = Client(hub).get("/v1/rooms.list")

    assert reply.refused == (401, "token_missing")
    assert reply.headers["www-authenticate"] == 'Bearer realm="tallystick"'


@pytest.mark.parametrize("token", ["wrong", "tally_" + "A" * 43, "tally_'; DROP TABLE tokens; --", "é", "x" * 5000])
def test_a_token_nobody_issued_is_refused(hub: RunningHub, token: str) -> None:
    reply = hub.user.get("/v1/rooms.list", Authorization=f"Bearer {token}")

    assert reply.refused == (401, "token_invalid")


@pytest.mark.parametrize("scheme", ["Basic", "Token", ""])
def test_only_bearer_counts(hub: RunningHub, scheme: str) -> None:
    reply = Client(hub).get("/v1/rooms.list", Authorization=f"{scheme} {hub.user.token}")

    assert reply.refused == (401, "token_missing")


def test_a_revoked_token_ends_at_once_and_so_do_its_streams(hub: RunningHub) -> None:
    room = hub.user.room()
    agent = hub.agent("leaver", room)
    stream = agent.stream(room)
    stream.take(1)
    listed = json.loads(hub.control("token", "list", "--json").stdout)["data"]["tokens"]
    (mine,) = [token["id"] for token in listed if token["principal"] == "leaver"]

    revoked = hub.control("token", "revoke", mine)

    assert (revoked.returncode, revoked.stdout) == (0, f"token {mine} of leaver is revoked\n")
    (last,) = stream
    assert (last.event, cast("Json", last.json["error"])["code"]) == ("error", "token_invalid")
    assert agent.post("rooms.show", {"room_id": room}).refused == (401, "token_invalid")


def test_a_token_that_expires_ends_its_streams(hub: RunningHub) -> None:
    room = hub.user.room()
    directly = Hub.open(Settings(data_dir=hub.data_dir))
    secret = tokens.issue(directly, principal="hasty", room_id=room, lasts_ms=1_500).secret
    directly.close()

    *_, last = Client(hub, secret).stream(room)

    assert (last.event, cast("Json", last.json["error"])["code"]) == ("error", "token_invalid")


def test_every_field_that_names_a_room_is_within_a_tokens_reach() -> None:
    """A new operation that names rooms in another way has to be added to what a token's reach is checked against."""
    named = {
        name
        for operation in OPERATIONS.values()
        for name in operation.ask.__struct_fields__
        if re.search(r"room|group|workspace|root|path$", name)
    }

    # `path` is one inside the room that stands beside it; alone it names no room, which a token for one room must do.
    # `group_id` is a group of actions.
    assert named - {"room_id", "src_group_id", "dst_group_id", "context_path", "path", "group_id"} == set()


def test_a_token_for_one_room_cannot_ask_about_paths_of_others(hub: RunningHub) -> None:
    room = hub.user.room()

    asked = hub.agent("ann", room).post("reservations.check", {"path": "/", "paths": ["a"]})

    assert asked.refused == (403, "other_room")


def test_an_event_is_by_whoever_the_token_says(hub: RunningHub) -> None:
    room = hub.user.room()

    ann = hub.agent("ann", room)
    ann.call("rooms.join", room_id=room)
    ann.append(room)
    hub.agent("svc:ci", room).append(room)
    hub.user.append(room)

    events = cast("list[Json]", hub.user.call("events.list", room_id=room)["events"])
    assert [event["by"] for event in events] == ["user", "ann", "ann", "svc:ci", "user"]


def test_nobody_chooses_another_name_over_the_network(hub: RunningHub) -> None:
    room = hub.user.room()

    reply = hub.agent("ann", room).post("rooms.join", {"room_id": room, "agent_id_override": "bob"})

    assert reply.refused == (403, "identity_fixed")


def test_a_claimed_author_in_the_body_is_an_unknown_field(hub: RunningHub) -> None:
    room = hub.user.room()

    reply = hub.user.post("events.append", {"room_id": room, "kind": "x.a.b", "data": {}, "by": "ann"})

    assert reply.refused == (400, "unknown_field")


def test_a_header_cannot_change_who_a_token_stands_for(hub: RunningHub) -> None:
    room = hub.user.room()

    reply = hub.agent("svc:ci", room).post(
        "events.append", {"room_id": room, "kind": "x.a.b", "data": {}}, Tally_Agent="bob"
    )

    assert cast("Json", reply.json["event"])["by"] == "svc:ci"


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("rooms.show", {"room_id": "OTHER"}),
        ("rooms.join", {"room_id": "OTHER"}),
        ("rooms.join", {"context_path": "/"}),
        ("rooms.list", {"context_path": "/"}),
        ("rooms.list", {"room_id": "OTHER"}),
        ("rooms.create", {"title": "mine"}),
        ("rooms.attach_scope", {"room_id": "OWN", "context_path": "/"}),
        ("events.list", {"room_id": "OTHER"}),
        ("events.follow", {"room_id": "OTHER"}),
        ("events.verify", {}),
        ("events.append", {"room_id": "OTHER", "kind": "x.a.b", "data": {}}),
        ("blobs.get", {"room_id": "OTHER", "sha256": "0" * 64}),
        ("messages.relay", {"room_id": "OWN", "src_group_id": "OTHER", "src_event_id": "x"}),
    ],
)
def test_a_token_for_one_room_reaches_no_other(hub: RunningHub, operation: str, given: Json) -> None:
    own, other = hub.user.room(), hub.user.room()
    named = {key: {"OWN": own, "OTHER": other}.get(str(value), value) for key, value in given.items()}

    reply = hub.agent("ann", own, Reach.MANAGE).post(operation, named)

    assert reply.refused == (403, "other_room")
    assert reply.error["details"] == {"room_id": own}


def test_a_token_for_one_room_lists_that_one(hub: RunningHub) -> None:
    own, _other = hub.user.room(), hub.user.room()

    listed = hub.agent("ann", own, Reach.READ).call("rooms.list")["rooms"]

    assert [each["room_id"] for each in cast("list[Json]", listed)] == [own]


def test_a_token_for_one_room_follows_and_measures_nothing_else(hub: RunningHub) -> None:
    own, other = hub.user.room(), hub.user.room()
    ann = hub.agent("ann", own)

    replies = [ann.get(path) for path in (f"/v1/events?room_id={other}&follow=true", "/metrics", "/v1/status")]

    assert [reply.refused for reply in replies] == [(403, "other_room")] * 3
    assert ann.get("/v1/hub.capabilities").status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "[localhost].evil.example",
        "",
    ],
)
def test_a_name_that_was_pointed_at_this_machine_gets_no_answer(hub: RunningHub, host: str) -> None:
    reply = hub.user.get("/healthz", Host=host)

    assert reply.refused == (421, "wrong_host")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "[::1]:7433", "LOCALHOST:1"])
def test_loopback_names_are_ours_whatever_the_port(hub: RunningHub, host: str) -> None:
    assert hub.user.get("/healthz", Host=host).status == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "file://"])
def test_a_foreign_page_may_not_even_ask(hub: RunningHub, origin: str) -> None:
    assert hub.user.get("/v1/rooms.list", Origin=origin).refused == (403, "foreign_origin")


def test_no_response_invites_other_origins(hub: RunningHub) -> None:
    reply = hub.user.request("OPTIONS", "/v1/rooms.create", Origin=f"http://127.0.0.1:{hub.port}")

    assert reply.status == 405
    assert [name for name in reply.headers if name.startswith("access-control")] == []


def test_every_response_is_locked_down(hub: RunningHub) -> None:
    replies = [hub.user.get("/v1/rooms.list"), Client(hub).get("/v1/rooms.list"), hub.user.get("/nowhere")]

    for reply in replies:
        assert {name: reply.headers[name] for name in SECURITY} == SECURITY


SECURITY = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def test_the_link_opens_once_and_only_at_the_pages_own_name(hub: RunningHub) -> None:
    link = cast("str", hub.local.get("/v1/status").json["login"]).partition(str(hub.port))[2]

    hop = Client(hub).get(link)
    own = hop.body.decode().partition('data-go="http://')[2].partition("/")[0]
    page = Client(hub, headers={"Host": own})
    first, second = page.get(link), page.get(link)

    assert (hop.status, "set-cookie" in hop.headers, own.endswith(f".localhost:{hub.port}")) == (200, False, True)
    again = (second, Client(hub).get(link))
    assert (first.status, [(each.status, "set-cookie" in each.headers) for each in again]) == (200, [(200, False)] * 2)
    assert Client(hub).get("/login?code=guessed").refused == (403, "login_expired")
    name, _, attributes = first.headers["set-cookie"].partition("=")
    assert name == f"tally_page_{hub.port}"
    assert attributes.partition("; ")[2] == "Path=/; HttpOnly; SameSite=Strict; Max-Age=604800"


def test_what_the_browser_holds_is_no_token_and_a_token_is_no_cookie(hub: RunningHub) -> None:
    page = browser(hub)
    name, _, secret = page.headers["Cookie"].partition("=")
    bearer = {"Authorization": f"Bearer {secret}"}

    assert Client(hub, headers=bearer).get("/v1/rooms.list").refused == (401, "token_invalid")
    assert Client(hub, headers={**bearer, "Host": page.headers["Host"]}).get("/metrics").refused[0] == 401
    assert Client(hub, headers={"Cookie": f"{name}={secret}"}).get("/v1/rooms.list").refused == (401, "token_missing")
    planted = {"Host": page.headers["Host"], "Cookie": f"{name}={hub.user.token}"}
    assert Client(hub, headers=planted).get("/v1/rooms.list").refused == (401, "token_missing")


def test_a_session_that_is_used_goes_on(hub: RunningHub) -> None:
    page = browser(hub)
    directly = Hub.open(Settings(data_dir=hub.data_dir))
    newest = next(token for token in tokens.every_token(directly) if token.label == "browser")
    short = newest.created_at + 60_000
    with directly.writing() as tx:
        tx.run(tokens.SQL["used"], token_hash=newest.token_hash, now=newest.created_at - 120_000, expires_at=short)

    reply = page.get("/", Sec_Fetch_Dest="document")

    renewed = next(token for token in tokens.every_token(directly) if token.id == newest.id)
    directly.close()
    assert reply.headers["set-cookie"].startswith(page.headers["Cookie"] + "; ")
    assert newest.expires_at is not None
    assert (renewed.expires_at or 0) >= newest.expires_at


def test_a_request_that_names_two_hosts_is_refused(process_hub: RunningHub) -> None:
    with socket.create_connection(("127.0.0.1", process_hub.port)) as raw:
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        answered = raw.makefile("rb").read()

    assert answered.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("code", ["", "code=", "code=guess", "other=1"])
def test_a_guessed_link_opens_nothing(hub: RunningHub, code: str) -> None:
    assert Client(hub).get(f"/login?{code}").refused == (403, "login_expired")


def test_a_link_is_given_to_nobody_over_tcp(hub: RunningHub) -> None:
    assert "login" not in hub.user.get("/v1/status").json


def test_the_browser_reads_with_its_cookie(hub: RunningHub) -> None:
    reply = browser(hub).get("/v1/rooms.list", Sec_Fetch_Site="same-origin")

    assert reply.status == 200


def test_the_browser_writes_from_our_own_page_only(hub: RunningHub) -> None:
    page = browser(hub)

    def write(**headers: str) -> Reply:
        return page.post("rooms.create", {"title": "from the page"}, **headers)

    own = f"http://{page.headers['Host']}"
    assert write(Origin=own).status == 200
    assert write(Sec_Fetch_Site="same-origin").status == 200
    refused = [write(), write(Sec_Fetch_Site="same-site"), write(Sec_Fetch_Site="cross-site"), write(Origin="null")]
    assert [reply.refused for reply in refused] == [(403, "foreign_origin")] * 4


def test_a_cross_site_form_changes_nothing(hub: RunningHub) -> None:
    page = browser(hub)
    before = hub.user.call("rooms.list")

    reply = page.request(
        "POST",
        "/v1/rooms.create",
        b'{"title": "forged"}',
        Content_Type="text/plain",
        Origin="https://evil.example",
        Sec_Fetch_Site="cross-site",
    )

    assert reply.refused == (403, "foreign_origin")
    assert hub.user.call("rooms.list") == before


def test_a_cookie_is_refused_to_a_page_of_another_site_even_for_reading(hub: RunningHub) -> None:
    assert browser(hub).get("/v1/rooms.list", Sec_Fetch_Site="cross-site").refused == (403, "foreign_origin")


def test_a_session_can_be_revoked_like_any_token(hub: RunningHub) -> None:
    page = browser(hub)
    tokens = json.loads(hub.control("token", "list", "--json").stdout)["data"]["tokens"]
    newest = next(token["id"] for token in tokens if token["label"] == "browser")

    hub.control("token", "revoke", newest)

    refusal = eventually(lambda: reply if (reply := page.get("/v1/rooms.list")).status != 200 else None)
    assert refusal.refused == (401, "token_invalid")


def test_over_the_socket_the_process_is_who_calls(hub: RunningHub) -> None:
    room = hub.user.room()

    hub.local.call("rooms.join", room_id=room)
    hub.local.headers["Tally-Agent"] = "unused"
    named = hub.local
    named.headers["Tally-Agent"] = "named-one"
    named.call("rooms.join", room_id=room)

    events = cast("list[Json]", hub.user.call("events.list", room_id=room, since_seq=1)["events"])
    assert cast("str", events[0]["by"]).startswith(("human:", "claude-code:", "codex:", "gemini:"))
    assert events[1]["by"] == "named-one"


def test_an_agent_in_the_callers_environment_speaks_for_itself(process_hub: RunningHub) -> None:
    room = process_hub.user.room()
    program = (
        "import json, sys; sys.path.insert(0, '.');"
        "from pathlib import Path; from tests.http.running import Client, RunningHub;"
        "Client(RunningHub(Path(sys.argv[1])), over_socket=True).call('rooms.join', room_id=sys.argv[2])"
    )

    subprocess.run(
        [sys.executable, "-c", program, str(process_hub.data_dir), room],
        env={**os.environ, "TALLYSTICK_AGENT": "from-env"},
        check=True,
    )

    (event,) = cast("list[Json]", process_hub.user.call("events.list", room_id=room, since_seq=1)["events"])
    assert event["by"] == "from-env"


@pytest.mark.parametrize("name", ["user", "system", "svc:tally", "human:root:pts0", "a b", ""])
def test_the_socket_lends_nobody_a_reserved_name(hub: RunningHub, name: str) -> None:
    client = hub.local
    client.headers["Tally-Agent"] = name

    reply = client.post("rooms.create", {"title": "x"})

    assert reply.status == (200 if not name else 400)


def test_a_browser_has_no_business_on_the_socket(hub: RunningHub) -> None:
    assert hub.local.get("/v1/rooms.list", Origin="http://localhost").refused == (403, "foreign_origin")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_another_user_is_turned_away_from_the_socket_even_if_it_could_open_it(process_hub: RunningHub) -> None:
    program = (
        "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); os.setuid(65534);"
        "t = socket.socket(socket.AF_UNIX)\n"
        "try: t.connect(sys.argv[1]); print('opened')\n"
        "except PermissionError: print('refused')"
    )

    found = subprocess.run(
        [sys.executable, "-c", program, str(process_hub.data_dir / "hub.sock")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.stdout == "refused\n"


def test_what_the_hub_leaves_behind_is_readable_by_its_user_only(process_hub: RunningHub) -> None:
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in process_hub.data_dir.iterdir()
        if path.name in {"hub.json", "token", "hub.sock", "hub.log", "hub.lock", "blobs"}
    }

    assert process_hub.data_dir.stat().st_mode & 0o777 == 0o700
    assert {name: mode for name, mode in modes.items() if name != "blobs"} == dict.fromkeys(
        ("hub.json", "token", "hub.sock", "hub.log", "hub.lock"), 0o600
    )


def test_no_secret_reaches_the_log(hub: RunningHub) -> None:
    secrets = [cast("str", hub.user.token), browser(hub).headers["Cookie"].partition("=")[2]]
    hub.user.post("rooms.create", {"title": "a private title"})
    hub.logged(hub.user.get("/v1/rooms.list?limit=7"))

    text = (hub.data_dir / "hub.log").read_text()

    assert [secret for secret in (*secrets, "a private title", "limit=7", "code=") if secret in text] == []


def test_health_tells_strangers_nothing_but_health(hub: RunningHub) -> None:
    reply = Client(hub).get("/healthz")

    assert (reply.status, reply.json) == (200, {"ok": True})


def test_an_http_1_0_request_without_a_host_is_refused(process_hub: RunningHub) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", process_hub.port)
    connection.putrequest("GET", "/healthz", skip_host=True)
    connection.endheaders()
    response = connection.getresponse()
    response.read()
    connection.close()

    assert response.status == 421
