"""What only CUBRID has, on the test server, or on a genuine one that HEADRACE_CUBRID_URL names (make test-live)."""
