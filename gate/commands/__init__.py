"""One module for each subcommand; each returns its exit code."""
