"""The programs here run in processes of their own, and are no tests."""

collect_ignore_glob = ["clients/*"]
