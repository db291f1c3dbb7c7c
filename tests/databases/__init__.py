"""Behaviour that every database shares."""
