"""The sub-agent. This room and the doors are the only ones that import pydantic_ai."""
