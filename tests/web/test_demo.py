"""The demo of the first start is taken off the page again with one click."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tallystick.hub.maintenance import DemoRooms
from tallystick.hub.settings import Settings
from tallystick.kernel.operation import Reach
from tests.http.running import RunningHub
from tests.web.browsing import join
from tests.web.conftest import Look


def played(hub: RunningHub, *room_ids: str) -> DemoRooms:
    """As the demo leaves it."""
    demo = DemoRooms(settings=Settings(data_dir=hub.data_dir))
    demo.folder.mkdir(exist_ok=True)
    demo.keep(*room_ids)
    return demo


@pytest.mark.browser
def test_one_click_deletes_the_demos_rooms_and_nothing_else(hub: RunningHub, look: Look, room: str) -> None:
    first, second = (hub.user.room(title) for title in ("lighthouse", "harbour-charts"))
    (ada,) = join(hub, first, "ada")
    ada.claim()
    demo = played(hub, first, second)
    viewer = look()
    viewer.go("/")

    viewer.find("#rooms").get_by_role("button", name="Delete the demo").click()

    for gone in (f"#room-{first}", f"#room-{second}", "#rooms button"):
        expect(viewer.find(gone)).to_have_count(0)
    expect(viewer.find(f"#room-{room}")).to_be_visible()
    assert list(demo.folder.iterdir()) == []
    assert hub.user.post("turns.state", {"room_id": first}).refused == (404, "cursor_gone")


def test_only_who_manages_everything_deletes_the_demo_and_only_where_there_is_one(hub: RunningHub, room: str) -> None:
    demo = played(hub, room)

    worker, one_room = hub.agent("demo-worker"), hub.agent("demo-manager", room, reach=Reach.MANAGE)

    assert worker.request("POST", "/demo/remove").refused == (403, "reach_too_short")
    assert one_room.request("POST", "/demo/remove").refused == (403, "other_room")
    assert hub.user.get("/demo/remove").status == 405
    assert demo.there
    assert hub.user.request("POST", "/demo/remove").json == {"ok": True}
    assert hub.user.request("POST", "/demo/remove").refused == (404, "route_not_found")
