"""What runs inside Python workers: one task per slot."""
