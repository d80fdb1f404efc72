"""What a training loop may use: uneven micro-batches, and a word on what a step has to do."""

from evenpace.torch.microbatches import MicroBatch, MicroBatches
from evenpace.torch.telling import work

__all__ = ["MicroBatch", "MicroBatches", "work"]
