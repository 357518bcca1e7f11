"""Rules about invocations that meet: atomics, barriers, subgroups and groups, their scopes and memory semantics."""
