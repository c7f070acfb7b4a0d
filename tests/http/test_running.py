"""`tally up`, `tally status` and `tally down`: starting, being found, and ending without losing anything."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest

from tallystick import __version__
from tallystick.surfaces.http import hub_files as hub_place
from tests.http.running import TALLY, Client, Json, RunningHub, signed_in
from tests.http.test_streams import waiting_follower
from tests.http.test_waits import answered, started, waiting
from tests.surfaces.cli.place import Place
from tests.waiting import eventually


@pytest.fixture
def hub(tmp_path: Path) -> Generator[RunningHub]:
    """A hub of this test's own."""
    hub = RunningHub(tmp_path / "data").start()
    yield hub
    hub.kill()


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningHub]:
    """A hub for those who only look."""
    hub = RunningHub(tmp_path_factory.mktemp("settled") / "data").start()
    yield hub
    hub.kill()


def up(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Start a hub that is expected not to stay."""
    hub = RunningHub(folder)
    return subprocess.run(
        [TALLY, "up", *args], env=hub.settings, capture_output=True, text=True, check=False, timeout=60
    )


def test_it_says_where_it_is_and_what_to_do(settled: RunningHub) -> None:
    url = f"http://127.0.0.1:{settled.port}"

    assert settled.greeting[0].startswith(f"Tallystick runs. Open its page: {url}/login?code=")
    assert "".join(settled.greeting).count("http") == 1
    assert settled.greeting[-1] == "Ctrl-C or `tally down` stops it."


@pytest.mark.parametrize("shared", [False, True])
def test_a_hub_closes_a_directory_of_its_own_to_others(hub: RunningHub, shared: bool) -> None:
    """One that somebody made by hand, or an older version; never one with files that others read."""
    hub.user.call("rooms.create", title="the flock")
    hub.stop()
    hub.data_dir.chmod(0o755)
    if shared:
        (hub.data_dir / "index.html").write_text("Welcome.")

    hub.start()

    assert hub.data_dir.stat().st_mode & 0o777 == (0o755 if shared else 0o700)


@pytest.mark.parametrize("empty", [False, True])
def test_a_directory_that_was_there_before_any_store_is_closed_if_it_is_empty(tmp_path: Path, empty: bool) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    if not empty:
        (tmp_path / "data/key").touch(mode=0o600)
    hub = RunningHub(tmp_path / "data").start()
    hub.kill()

    assert hub.data_dir.stat().st_mode & 0o777 == (0o700 if empty else 0o755)


def test_at_a_terminal_it_tells_who_comes_and_where_the_stick_is() -> None:
    with TemporaryDirectory(prefix="t-") as folder:
        place = Place(root=Path(folder))
        with place.terminal("up", "--port", "0") as terminal:
            terminal.until("stops it.")
            for words in (["join"], ["wait"], ["note", "Only for the log."]):
                assert place.as_("ada", *words).code == 0
            place.as_("bo", "join")
            terminal.until("bo joined")
            terminal.type("\x03")
            said = re.sub(r"\d\d:\d\d", "NOW", terminal.rest().replace("^C", "")).splitlines()

    told = said.index("Ctrl-C or `tally down` stops it.") + 1
    assert said[told:] == [
        "NOW  workspace: ada opened the room: workspace",
        "NOW  workspace: ada joined",
        "NOW  workspace: ada has the stick: turn 1",
        "NOW  workspace: bo joined",
        "The hub has stopped.",
    ]


def test_it_leaves_a_card_and_a_token_while_it_runs_and_takes_the_card_away(hub: RunningHub) -> None:
    card = cast("Json", json.loads((hub.data_dir / "hub.json").read_text()))

    assert hub.stop() == 0

    assert {key: card[key] for key in card if key != "started_at"} == {
        "url": f"http://127.0.0.1:{hub.port}",
        "bus_socket": str(hub.data_dir / "bus.sock"),
        "http_socket": str(hub.data_dir / "hub.sock"),
        "mcp_socket": str(hub.data_dir / "mcp.sock"),
        "pid": hub.process.pid,
        "version": __version__,
        "database": None,
    }
    assert [path.name for path in (hub.data_dir / "hub.json", hub.data_dir / "hub.sock") if path.exists()] == []
    assert (hub.data_dir / "token").exists()


def test_the_token_survives_a_restart(hub: RunningHub) -> None:
    token = hub.user.token
    hub.stop()

    hub.start()

    assert hub.user.token == token
    assert hub.user.get("/v1/hub.health").status == 200


def test_a_lost_token_file_is_replaced(hub: RunningHub) -> None:
    hub.stop()
    (hub.data_dir / "token").unlink()

    hub.start()

    assert hub.user.get("/v1/hub.health").status == 200


def test_in_one_envelope_it_says_where_it_is(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data")
    with subprocess.Popen(
        [TALLY, "--json", "up", "--port", "0"], env=hub.settings, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        said = cast("Json", json.loads(process.stdout.readline()))
        process.terminate()
        rest = process.stdout.read()

    data = cast("Json", said["data"])
    assert (said["ok"], said["command"], rest, process.returncode) == (True, "up", "", 0)
    assert cast("str", data["page"]).startswith(f"{data['url']}/login?code=")
    assert {name: data[name] for name in ("token", "socket", "log")} == {
        "token": str(hub.data_dir / "token"),
        "socket": str(hub.data_dir / "hub.sock"),
        "log": str(hub.data_dir / "hub.log"),
    }


def test_a_detached_hub_outlives_the_command_that_started_it(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data")

    started = up(hub.data_dir, "--port", "0", "--detach")

    port = started.stdout.partition("/login")[0].rpartition(":")[2]
    assert (started.returncode, started.stderr, started.stdout.splitlines()[-1]) == (0, "", "`tally down` stops it.")
    again = up(hub.data_dir, "--port", "0", "--detach")
    assert (again.returncode, again.stderr.splitlines()[0]) == (
        1,
        f"error: A hub runs here already, at http://127.0.0.1:{port}.",
    )
    assert hub.control("down").stdout == "The hub has stopped.\n"


def test_a_second_hub_says_where_the_first_one_is(settled: RunningHub) -> None:
    second = up(settled.data_dir, "--port", "0")

    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.splitlines()[0] == f"error: A hub runs here already, at http://127.0.0.1:{settled.port}."
    assert settled.user.get("/v1/hub.health").status == 200


def test_a_card_left_by_a_killed_hub_keeps_nobody_from_starting(hub: RunningHub) -> None:
    hub.kill()
    assert (hub.data_dir / "hub.json").exists()

    hub.start()

    assert hub.user.get("/v1/hub.health").status == 200


def test_a_taken_port_is_refused_by_name(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        found = up(tmp_path / "data", "--port", str(port))

    assert found.returncode == 3
    assert found.stderr.splitlines() == [
        f"error: Cannot listen on 127.0.0.1 port {port}: Address already in use.",
        "hint: Choose another port with --port, or --port 0 for any that is free.",
    ]


@pytest.mark.parametrize("port", ["99999", "-1", "http"])
def test_a_port_that_is_none_is_a_usage_error(tmp_path: Path, port: str) -> None:
    assert up(tmp_path / "data", f"--port={port}").returncode == 2


def test_an_address_of_another_machine_is_refused(tmp_path: Path) -> None:
    found = up(tmp_path / "data", "--host", "no-such-host.invalid", "--insecure", "--port", "0")

    assert found.returncode == 1
    assert found.stderr.startswith("error: Cannot listen on 'no-such-host.invalid'")


def test_loopback_has_an_address_of_the_newer_kind_too(tmp_path: Path) -> None:
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    hub = RunningHub(tmp_path / "data").start("--host", "::1")

    assert hub.greeting[0].startswith(f"Tallystick runs. Open its page: http://[::1]:{hub.port}/login?code=")
    assert hub.local.get("/v1/status").json["url"] == f"http://[::1]:{hub.port}"
    assert hub.stop() == 0


def test_looking_at_a_hub_never_keeps_one_from_starting(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data").start()
    place = hub_place.HubFiles(hub.data_dir)
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            place.holder()

    looking = threading.Thread(target=look)
    hub.stop()
    looking.start()
    hub.start()
    stop.set()
    looking.join()

    assert hub.user.get("/v1/hub.health").status == 200
    hub.stop()


def test_other_machines_are_served_only_with_tls_or_on_purpose(tmp_path: Path) -> None:
    found = up(tmp_path / "data", "--host", "0.0.0.0", "--port", "0")

    assert found.returncode == 2
    assert found.stderr.startswith("error: 0.0.0.0 can be reached from other machines")
    assert not (tmp_path / "data").exists()


def test_on_purpose_it_serves_other_machines_without_tls(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data").start("--host", "0.0.0.0", "--insecure")

    assert hub.user.get("/v1/hub.health").status == 200
    assert hub.stop() == 0


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    about = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run(["openssl", "req", *about, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def test_with_a_certificate_tcp_is_encrypted_and_the_socket_is_not(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    import http.client
    import ssl

    cert, key = certificate
    hub = RunningHub(tmp_path / "data").start("--tls-cert", str(cert), "--tls-key", str(key), "--host", "0.0.0.0")
    trusting = ssl.create_default_context(cafile=str(cert))
    connection = http.client.HTTPSConnection("localhost", hub.port, context=trusting)
    connection.request("GET", "/v1/hub.health", headers={"Authorization": f"Bearer {hub.user.token}"})
    encrypted = connection.getresponse().status
    connection.close()

    assert (encrypted, hub.local.get("/v1/hub.health").status) == (200, 200)
    assert cast("str", hub.local.get("/v1/status").json["url"]).startswith("https://")
    assert hub.stop() == 0


def test_a_bad_certificate_is_a_clear_refusal(tmp_path: Path) -> None:
    (tmp_path / "not.pem").write_text("not a certificate")

    found = up(
        tmp_path / "data",
        "--port",
        "0",
        "--tls-cert",
        str(tmp_path / "not.pem"),
        "--tls-key",
        str(tmp_path / "not.pem"),
    )

    assert found.returncode == 1
    assert found.stderr.splitlines()[0].startswith(f"error: The certificate {tmp_path / 'not.pem'}")


def test_a_data_directory_with_too_long_a_path_is_refused(tmp_path: Path) -> None:
    found = up(tmp_path / ("x" * 120), "--port", "0")

    assert found.returncode == 1
    assert "has more than 100 bytes" in found.stderr


def test_status_works_without_a_hub(tmp_path: Path) -> None:
    found = RunningHub(tmp_path / "data").control("status")

    assert (found.returncode, found.stdout) == (0, "No hub is running; commands work without one.\n")
    assert not (tmp_path / "data").exists()


def test_status_shows_what_runs(hub: RunningHub) -> None:
    hub.user.room()
    stream = hub.user.stream(hub.user.room())
    stream.take(1)

    shown = hub.control("status").stdout
    facts = cast("Json", json.loads(hub.control("status", "--json").stdout))

    data = cast("Json", facts["data"])
    assert (facts["ok"], facts["command"], facts["error"]) == (True, "status", None)
    assert {key: data[key] for key in ("running", "pid", "rooms", "followers", "waits", "url")} == {
        "running": True,
        "pid": hub.process.pid,
        "rooms": 2,
        "followers": 1,
        "waits": 0,
        "url": f"http://127.0.0.1:{hub.port}",
    }
    page = f"http://127.0.0.1:{hub.port}/login?code="
    assert shown.startswith(f"Tallystick {__version__} runs. Open its page: {page}")


def test_the_link_of_status_opens_the_page(settled: RunningHub) -> None:
    data = cast("Json", json.loads(settled.control("status", "--json").stdout)["data"])

    page = signed_in(settled, cast("str", data["login"]))

    assert Client(settled, headers=page.headers).get("/").status == 200


def test_down_stops_the_hub_and_waits_for_its_end(hub: RunningHub) -> None:
    pid = hub.process.pid
    found = hub.control("down", "--json")

    assert json.loads(found.stdout) == {
        "ok": True,
        "command": "down",
        "data": {"stopped": True, "pid": pid},
        "error": None,
    }
    assert (found.returncode, hub.ended()) == (0, 0)


def test_down_without_a_hub_has_nothing_to_do(tmp_path: Path) -> None:
    found = RunningHub(tmp_path / "data").control("down")

    assert (found.returncode, found.stdout) == (0, "No hub is running.\n")


def test_down_kills_no_innocent_process_that_has_the_number_now(hub: RunningHub) -> None:
    hub.kill()
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    host, _, mark = (hub.data_dir / "hub.lock").read_text().split()
    (hub.data_dir / "hub.lock").write_text(f"{host} {bystander.pid} {mark}\n")

    found = hub.control("down")

    assert (found.stdout, bystander.poll()) == ("No hub is running.\n", None)
    bystander.communicate()


def test_at_the_end_streams_hear_good_bye_and_waits_are_answered(hub: RunningHub) -> None:
    user = hub.user
    room = user.room()
    stream = user.stream(room)
    pending = started(user, "events.follow", room_id=room, since_seq=1, max_wait_ms=110_000)
    waiting_follower(hub, 1)
    waiting(hub, 1)

    hub.process.terminate()

    assert [frame.event for frame in stream] == ["group.create", "bye"]
    assert answered(pending) == {"events": [], "cursor": 1, "head": 1}
    assert hub.ended() == 0


def test_what_was_accepted_before_the_end_is_answered_and_kept(hub: RunningHub) -> None:
    user = hub.user
    room = user.room()
    acknowledged: list[int] = []

    def write() -> None:
        try:
            while True:
                acknowledged.append(user.append(room))
        except (OSError, AssertionError):
            return

    writers = [threading.Thread(target=write) for _ in range(8)]
    for each in writers:
        each.start()
    user.stream(room).take(100)
    hub.process.send_signal(signal.SIGINT)
    for each in writers:
        each.join()
    assert hub.ended() == 0

    hub.start()
    listed = [frame.id for frame in hub.user.stream(room).take(max(acknowledged))]
    assert sorted(acknowledged) == [seq for seq in listed if seq in set(acknowledged)]
    assert hub.user.call("events.verify", room_id=room)["ok"] is True


def test_a_second_signal_does_not_wait(hub: RunningHub) -> None:
    wire = socket.create_connection(("127.0.0.1", hub.port))
    head = f"POST /v1/rooms.create HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {hub.user.token}\r\n"
    wire.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n".encode())
    hub.user.get("/healthz")

    hub.process.terminate()
    while (hub.data_dir / "hub.json").exists() and hub.process.poll() is None:
        hub.process.terminate()

    # The last of many signals may come when the interpreter has already put its handlers away.
    assert hub.ended() in {0, -signal.SIGTERM}
    wire.close()


def test_a_hub_signs_where_the_ledgers_end(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data").start()
    hub.user.room()
    hub.stop()
    hub.start()

    verified = eventually(lambda: _signed(hub.user.call("events.verify")))
    hub.stop()

    assert verified["ok"] is True
    assert (tmp_path / "data" / "checkpoint.key").stat().st_mode & 0o777 == 0o600


def _signed(verified: Json) -> Json | None:
    return verified if cast("Json", verified["checkpoints"])["count"] == 1 else None


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_data_directory_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    hub = RunningHub(tmp_path / "data")
    hub.data_dir.mkdir()
    hub.data_dir.chmod(mode)

    done = hub.control("up", "--port", "0", "--json")

    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "foreign_data_dir")
    assert list(hub.data_dir.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("more", [(), ("--detach",)])
def test_a_data_directory_of_another_user_is_refused(tmp_path: Path, more: tuple[str, ...]) -> None:
    hub = RunningHub(tmp_path / "data")
    hub.data_dir.mkdir(mode=0o700)
    precious = tmp_path / "precious"
    precious.touch(mode=0o644)
    (hub.data_dir / "hub.log").symlink_to(precious)
    os.chown(hub.data_dir, 65534, -1)

    done = hub.control("up", "--port", "0", "--json", *more)

    assert json.loads(done.stdout)["error"]["code"] == "foreign_data_dir"
    assert (precious.stat().st_mode & 0o777, precious.read_bytes()) == (0o644, b"")


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data")
    hub.data_dir.mkdir(mode=0o700)
    precious = tmp_path / "precious"
    precious.write_text("precious\n")
    (hub.data_dir / "hub.lock").symlink_to(precious)

    done = hub.control("up", "--port", "0", "--json")

    assert (done.returncode != 0, precious.read_text()) == (True, "precious\n")
