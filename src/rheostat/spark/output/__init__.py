"""What an epoch gives away: results, sinks, rows kept aside."""
