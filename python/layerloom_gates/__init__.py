"""Routers of mixtures of experts, made from prompts: `python -m layerloom_gates RECIPE -o gates.safetensors`."""
