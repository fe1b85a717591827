"""Measurements of the project, to be run as `python -m benchmarks.NAME`; README.md says which there are."""
