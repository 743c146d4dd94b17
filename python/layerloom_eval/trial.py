"""Answers one prompt by the harness's `hf`.

Uses of lm_eval 0.4.13: `lm_eval.api.registry.get_model`, `lm_eval.api.instance.Instance`, `HFLM.generate_until`,
`HFLM.apply_chat_template`.
"""

import lm_eval.api.registry
import lm_eval.models  # registers `hf`
import torch
from lm_eval.api.instance import Instance


def answer(prompt, max_tokens, chat, arguments):
    """Returns the continuation of a prompt, or with `chat` the answer to it, by greedy decoding."""
    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    model = lm_eval.api.registry.get_model("hf")(**{"device": device, **arguments})
    if chat:
        prompt = model.apply_chat_template([{"role": "user", "content": prompt}])
    settings = {"until": [], "max_gen_toks": max_tokens, "do_sample": False}
    [text] = model.generate_until([Instance("generate_until", {}, (prompt, settings), 0)], disable_tqdm=True)
    return text
