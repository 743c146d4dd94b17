"""Routers of mixtures of experts, made of prompts: `python -m layerloom_gates RECIPE -o gates.safetensors`."""
