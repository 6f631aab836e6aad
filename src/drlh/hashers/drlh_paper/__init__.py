"""DRLH as published: a deep Q-network that walks bit by bit, with replay and a target network."""
