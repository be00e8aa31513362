"""Trees as text for people.

Builds on the core alone; objects say what they are made of, and the modules here
lay it out.
"""
