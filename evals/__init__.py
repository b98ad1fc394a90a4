"""Measures what a compaction keeps: facts, verdicts, statistics and the command-line program that shows them."""
