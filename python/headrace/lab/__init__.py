"""The lab: servers to race on, the race itself, its statistics and reports.

The lab uses drivers only through their public face, headrace included.
"""
