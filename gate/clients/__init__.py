"""One module for each client: its payload, its output form, its owner."""
