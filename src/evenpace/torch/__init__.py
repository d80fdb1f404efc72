"""What a training loop may use: uneven micro-batches, positions that change, a word on a step's work."""

from evenpace.torch.microbatches import MicroBatch, MicroBatches, Share
from evenpace.torch.positions import Positions
from evenpace.torch.telling import work

__all__ = ["MicroBatch", "MicroBatches", "Positions", "Share", "work"]
