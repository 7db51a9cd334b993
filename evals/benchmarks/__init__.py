"""Speed and memory as ratios, each against something that does the same work, measured in one run."""
