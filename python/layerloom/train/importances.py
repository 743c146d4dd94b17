"""Makes the importances for method `fisher`: the diagonal of a model's empirical Fisher information.

    python -m layerloom.train.importances MODEL --data rows.jsonl -o fisher.safetensors

For each row it takes the gradient of the log-likelihood of all its tokens except the first; the result is the
mean of these gradients' squares, element by element. It processes one row at a time, in float32. A row has a
`text`, or `messages` for the tokenizer's chat template. The file has a tensor for each parameter, under the
model's name for it; tied ones are stored under each name.
"""

import math
import sys
from collections.abc import Iterable

import torch
from safetensors.torch import save_file

from layerloom.train.rows import DataError, load, parser_of, replacing


def main(arguments: list[str] | None = None) -> None:
    parser = parser_of("importances", "Makes the importances of a model's parameters (diagonal Fisher information) of rows of text.")
    given = parser.parse_args(arguments)
    try:
        model, rows = load(given)
        importances = importances_of(model, rows)
    except DataError as error:
        sys.exit(f"error: {error}")
    squares = sum(tensor.double().square().sum().item() for tensor in distinct(importances.values()))
    elements = sum(tensor.numel() for tensor in distinct(importances.values()))
    mean = sum(tensor.double().sum().item() for tensor in distinct(importances.values())) / elements
    norm = math.sqrt(squares)
    # Files store tensors separately, so tied tensors are written under each name.
    tensors = {name: tensor.cpu().clone() for name, tensor in importances.items()}
    metadata = {"format": "pt", "rows": str(len(rows)), "norm": repr(norm), "mean": repr(mean)}
    with replacing(given.out) as partial:
        save_file(tensors, partial, metadata)
    print(f"{given.out}: {len(tensors)} tensors of {len(rows)} rows; mean {mean:.3g}, norm {norm:.3g}")


def distinct(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    return list({id(tensor): tensor for tensor in tensors}.values())


def importances_of(model: torch.nn.Module, rows: Iterable[torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns the mean over rows of squared gradients, in float32, by parameter name.

    `model` is a causal language model; rows are token ids of shape (1, tokens). Tied parameters are one
    tensor under several names. Raises DataError if a gradient is not finite.
    """
    model.eval()
    named = {name: value for name, value in model.state_dict(keep_vars=True).items() if isinstance(value, torch.nn.Parameter)}
    parameters = [parameter.requires_grad_(True) for parameter in distinct(named.values())]
    sums = {id(parameter): torch.zeros_like(parameter, dtype=torch.float32) for parameter in parameters}
    count = 0
    for row in rows:
        ids = row.to(parameters[0].device)
        logits = model(input_ids=ids, use_cache=False).logits[0, :-1].float()
        model.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum").backward()
        count += 1
        for parameter in parameters:
            # A part that the row does not reach, such as an unused expert, has no gradient.
            if parameter.grad is None:
                continue
            if not torch.isfinite(parameter.grad).all():
                raise DataError(f"row {count}: its gradient is not finite")
            sums[id(parameter)].addcmul_(parameter.grad.float(), parameter.grad.float())
    model.zero_grad(set_to_none=True)
    for total in sums.values():
        total.div_(count)
    return {name: sums[id(parameter)] for name, parameter in named.items()}


if __name__ == "__main__":
    main()
