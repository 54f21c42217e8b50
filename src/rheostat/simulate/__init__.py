"""Streams, clusters and policies without either: engines that run the same decisions at any size."""
