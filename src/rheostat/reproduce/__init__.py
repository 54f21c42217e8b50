"""The papers' evaluations, run again: one module per paper, their figures beside ours."""
