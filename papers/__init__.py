"""The five papers' evaluations, run again: one folder per paper, one file per figure or table."""
