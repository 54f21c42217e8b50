"""One Spark stage: what the driver tells its tasks and what they report back."""
