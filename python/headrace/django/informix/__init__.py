"""Django's backend for Informix."""
