"""Other drivers' interfaces, on headrace."""
