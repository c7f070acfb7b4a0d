"""Which files a tool call is about to change: `tool_calls` asks `file_writes`, which asks `parser`."""
