// While the person at this page holds the stick, the open page keeps the lease; a refusal says that it is lost.

import { toast } from "./feedback.js";
import { call } from "./forms.js";

let held = "";
let timer = 0;

export function hold(main) {
  const { hold: lease = "", turn, room, every } = main.dataset;
  if (lease === held) return;
  clearInterval(timer);
  held = lease;
  if (!lease) return;
  timer = setInterval(async () => {
    const { error } = await call("turns.heartbeat", { room_id: room, lease_id: lease, expected_turn_id: Number(turn) });
    if (error && error.code !== "connection_lost") {
      clearInterval(timer);
      toast(`You no longer hold the stick. ${error.message}`, "bad");
    }
  }, Math.max(1000, Number(every)));
}
