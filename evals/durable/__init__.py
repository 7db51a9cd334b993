"""Trials of durable runs: workers killed, memory over thousands of questions, what recording costs."""
