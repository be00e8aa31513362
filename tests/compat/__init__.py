"""The stand-ins beside the libraries that they stand in for."""
