"""Trains one side of a partition at a time: the language's parameters, or the task's."""

import torch

from .partition import BOTH, NEITHER, Partition


class Parts:
    """The trainable parameters of a model, by part.

    Only parameters that require gradients now are ever trained: with PEFT these are the adapter's, and the
    base stays frozen. Parameters shared by two modules (tied embeddings) count once, under their first name.
    """

    def __init__(self, model: torch.nn.Module, partition: Partition):
        self.partition = partition
        self.parameters: dict[str, list[torch.nn.Parameter]] = {part: [] for part in partition.parts}
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                self.parameters[partition.part_of(name)].append(parameter)

    def of(self, side: str) -> list[torch.nn.Parameter]:
        """Parameters that training one side updates. Raises KeyError if there is no such side."""
        self.partition.check(side)
        return [*self.parameters[side], *self.parameters.get(BOTH, [])]

    def train_only(self, side: str) -> None:
        """Makes only this side's parameters require gradients, and drops the other gradients.

        A torch optimizer skips a parameter without a gradient. A gradient of zeros would move the parameter by
        weight decay and momentum.
        """
        self.partition.check(side)
        for part, parameters in self.parameters.items():
            for parameter in parameters:
                parameter.requires_grad_(part in (side, BOTH))
        self.drop_gradients_except(side)

    def drop_gradients_except(self, side: str) -> None:
        """Drops the gradients of other sides, so that clipping and the optimizer skip them."""
        self.partition.check(side)
        for part, parameters in self.parameters.items():
            if part not in (side, BOTH):
                for parameter in parameters:
                    parameter.grad = None

    def groups(self, learning_rates: dict[str, float] | None = None) -> list[dict]:
        """Parameter groups for an optimizer, one for each part except `neither`, each with its own learning
        rate if given."""
        rates = learning_rates or {}
        unknown = rates.keys() - self.parameters.keys()
        if unknown:
            raise KeyError(f"learning rates of unknown parts: {', '.join(sorted(unknown))}")
        return [
            {"params": parameters, "part": part, **({"lr": rates[part]} if part in rates else {})}
            for part, parameters in self.parameters.items()
            if parameters and part != NEITHER
        ]


def freeze(model: torch.nn.Module, partition: Partition, side: str) -> Parts:
    """Freezes all parameters except those of one side: freeze-then-train. Returns the parts, to train another
    side later."""
    parts = Parts(model, partition)
    if not parts.of(side):
        raise ValueError(f"nothing to train: side {side!r} has no trainable parameter")
    parts.train_only(side)
    return parts
