"""The index in Milvus."""
