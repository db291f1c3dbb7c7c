"""What only PostgreSQL has, on PostgreSQL 15 and 18, on blocking and on asyncio connections."""
