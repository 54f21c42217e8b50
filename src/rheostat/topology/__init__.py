"""What the user writes: streams, operators, windows, aggregates, sinks; validated with good errors."""
