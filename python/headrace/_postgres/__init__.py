"""The Python half of the PostgreSQL driver."""
