"""asyncio twins."""
