// As long as a page is open it keeps the leases that its person holds, whatever view it shows; a refusal says that one is lost.

import { toast } from "./feedback.js";
import { call } from "./forms.js";

const kept = new Map();

/** Where the person has a place in the turn order, with the lease of the stick they hold there. */
export const standing = (main) => JSON.parse(main.dataset.standing ?? "[]");

export function hold(main) {
  const held = standing(main).filter(({ lease }) => lease);
  for (const [lease, timer] of kept) {
    if (held.some((each) => each.lease === lease)) continue;
    clearInterval(timer);
    kept.delete(lease);
  }
  for (const each of held) if (!kept.has(each.lease)) kept.set(each.lease, setInterval(() => renew(each), Math.max(1000, each.every)));
}

async function renew({ room, lease, turn }) {
  const { error } = await call("turns.heartbeat", { room_id: room, lease_id: lease, expected_turn_id: turn });
  if (!error || error.code === "connection_lost") return;
  clearInterval(kept.get(lease));
  toast(`You no longer hold the stick. ${error.message}`, "bad");
}
