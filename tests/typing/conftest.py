"""The programs are run by `test_programs.py`, and looked through for no doctests."""

collect_ignore_glob = ["nn_*.py"]
