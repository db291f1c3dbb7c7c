"""What the drivers of every database share; private."""
