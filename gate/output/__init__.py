"""One module for each output format, over one result model."""
