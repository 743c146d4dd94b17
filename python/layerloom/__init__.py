"""Merges fine-tuned LLM checkpoints by layer swapping: exact, fast, small in memory."""
