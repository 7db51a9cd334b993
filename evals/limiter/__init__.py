"""The limit trial: several processes, one limit."""
