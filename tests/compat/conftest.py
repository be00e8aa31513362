"""The program here runs in processes of its own, and is no test."""

collect_ignore = ["client_autoform.py"]
