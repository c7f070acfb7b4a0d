"""Messages: sending, delivery, read marks and acknowledgements (CCCS v1). Notifications and the shared context too.

Delivered, read and acknowledged are three facts: `deliveries` and `inboxes` are folded from `chat.*` and `system.*`
events, `attention` holds what senders still wait for. `listeners` (who waits for mail right now) is live state.
"""
