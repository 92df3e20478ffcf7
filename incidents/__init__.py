"""The incidents: one Markdown file for each post-mortem that justifies a check. Shipped for `gate explain`."""
