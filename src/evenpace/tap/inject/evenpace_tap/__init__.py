"""The part of the tap that runs inside a worker. Standard library only; never raises into training."""
