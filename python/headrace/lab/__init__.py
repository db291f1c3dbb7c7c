"""The lab: servers to test on, and the race."""
