"""Wiring the gate into clients: their settings files, edited with care, and the line that stands in them."""
