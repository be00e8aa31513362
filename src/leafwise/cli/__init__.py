"""The command line: nested config files shown, read, edited, compared, merged."""
