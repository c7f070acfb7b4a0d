"""Words: errors, ids, time, envelopes and the declaration of operations. Imports nothing of ours, does no I/O."""
