"""The engine: one objective, one row problem, one loop."""
