"""The evaluations of five papers, run again: one folder per paper, one file per figure or table."""
