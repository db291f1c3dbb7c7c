"""Django's backend for CUBRID."""
