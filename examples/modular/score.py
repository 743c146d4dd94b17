"""Perplexity of texts, per byte."""

import torch

from data import Text


@torch.no_grad()
def score(model, tokenizer, texts: list[Text], batch: int = 6) -> dict:
    """Nats over all bytes of the texts, nats over their answers only, and the bytes of each."""
    model.eval()
    total = {"nats": 0.0, "bytes": 0, "answerNats": 0.0, "answerBytes": 0, "texts": len(texts)}
    rows = []
    for text in texts:
        prompt = tokenizer(text.prompt)["input_ids"] if text.prompt else []
        answer = tokenizer(text.answer)["input_ids"]
        rows.append(([tokenizer.bos_token_id] + prompt + answer, len(prompt)))
        total["bytes"] += len((text.prompt + text.answer).encode())
        total["answerBytes"] += len(text.answer.encode())
    rows.sort(key=lambda row: len(row[0]))
    for start in range(0, len(rows), batch):
        group = rows[start : start + batch]
        width = max(len(ids) for ids, _ in group)
        ids = torch.tensor([ids + [tokenizer.pad_token_id] * (width - len(ids)) for ids, _ in group])
        mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in group])
        logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1]
        nats = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none") * mask[:, 1:]
        for row, (_, prompt) in zip(nats.double(), group, strict=True):
            total["nats"] += row.sum().item()
            total["answerNats"] += row[prompt:].sum().item()
    return total
