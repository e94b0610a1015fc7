"""`quench watch`: measures the checkpoints of a training while it runs."""
