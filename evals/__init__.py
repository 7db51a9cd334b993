"""Measurements and trials of the package; no part of what is installed."""
