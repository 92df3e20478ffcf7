"""The configuration: where it is read, what it may say, what is in force."""
