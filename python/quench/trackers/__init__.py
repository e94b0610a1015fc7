"""Sends the values of a run to TensorBoard, MLflow or Weights & Biases, each through its official client.

    python3 -m quench.trackers RUN --to tensorboard      what `quench export RUN --to tensorboard` starts

Nothing is imported here, because each client is needed only by its own tracker.
"""
