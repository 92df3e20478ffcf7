"""The built-in checks: one module each, named after what it looks for."""
