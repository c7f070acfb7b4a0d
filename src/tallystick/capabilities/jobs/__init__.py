"""Jobs: delegated work with claims, routing, a manager's radar and a proof gate (BranchMind). Runners too.

A job's row is one fold over its events; attention, order and routing are columns of it, so that looking costs the same
however much has happened. Claim leases (`job_claims`) and runners are live state. Nothing is executed here.
"""
