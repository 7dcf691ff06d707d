"""Reading: recordings as traces, tables, differences, and while they are written."""
