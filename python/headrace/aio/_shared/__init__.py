"""What the asyncio drivers of every database share; private."""
