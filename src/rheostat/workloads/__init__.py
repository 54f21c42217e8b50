"""Streams to run on: generated ones, from the lending job to a trading day, and recorded loads."""
