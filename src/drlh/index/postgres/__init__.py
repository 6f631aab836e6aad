"""The index in PostgreSQL with pgvector."""
