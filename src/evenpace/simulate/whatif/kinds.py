"""The types of operations that a replay knows, and how each behaves."""

from __future__ import annotations

FORWARD, BACKWARD = "forward-compute", "backward-compute"
WORK = "own-work"  # of a run folder: all that a worker does by itself in an iteration
COMPUTE = (FORWARD, BACKWARD, WORK)
SEND_FORWARD, RECEIVE_FORWARD = "forward-send", "forward-recv"
SEND_BACKWARD, RECEIVE_BACKWARD = "backward-send", "backward-recv"
POINT_TO_POINT = (SEND_FORWARD, RECEIVE_FORWARD, SEND_BACKWARD, RECEIVE_BACKWARD)
GATHER = "params-all-gather"
SCATTER = "grads-reduce-scatter"
SEPARATE = "separate-grads-all-reduce"
EMBEDDING = "embedding-grads-all-reduce"
LAYERNORM = "layernorm-grads-all-reduce"
CLIP = "optimizer-clip-main-grad"
MEET = "collectives"  # of a run folder: all that workers do together in an iteration

# What follows the last backward, in order; with SEPARATE in the trace, SCATTER overlaps with the backwards.
TAIL = ("gc", LAYERNORM, EMBEDDING, SCATTER, SEPARATE, CLIP, "optimizer", MEET)
KNOWN = frozenset((*COMPUTE, *POINT_TO_POINT, GATHER, *TAIL))

ACROSS_REPLICAS = frozenset((GATHER, SCATTER, SEPARATE, CLIP, MEET))  # all replicas of a stage meet in them
ACROSS_STAGES = frozenset((EMBEDDING, CLIP))  # the stages that have them meet in them
COMMUNICATION = frozenset((*POINT_TO_POINT, GATHER, SCATTER, SEPARATE, EMBEDDING, LAYERNORM, CLIP, MEET))
