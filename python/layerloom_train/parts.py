"""Trains one part of a model's parameters at a time."""

import torch

from .partition import Partition


class Parts:
    """The trainable parameters of a model, by part.

    Only parameters that require gradients when this is made are ever trained: with PEFT these are the adapter's, and
    the base stays frozen. Parameters shared by two modules (tied embeddings) count once, under their first name.
    """

    def __init__(self, model: torch.nn.Module, partition: Partition):
        self.parameters: dict[str, list[torch.nn.Parameter]] = {part: [] for part in partition.parts}
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                self.parameters[partition.part_of(name)].append(parameter)

    def of(self, part: str) -> list[torch.nn.Parameter]:
        """Trainable parameters of a part. Raises KeyError if there is no such part."""
        if part not in self.parameters:
            raise KeyError(f"no part {part!r}; there are {', '.join(sorted(self.parameters))}")
        return self.parameters[part]

    def train_only(self, part: str) -> None:
        """Makes this part require gradients and no other, and drops gradients that the others had.

        An optimizer of torch leaves a parameter without a gradient as it is: no weight decay, no momentum. A gradient of
        zeros would move it by both.
        """
        wanted = self.of(part)
        for parameters in self.parameters.values():
            for parameter in parameters:
                parameter.requires_grad_(parameters is wanted)
        self.drop_gradients_except(part)

    def drop_gradients_except(self, part: str) -> None:
        """Drops the gradients of the other parts, so that clipping and the next step of the optimizer pass over them."""
        wanted = self.of(part)
        for parameters in self.parameters.values():
            if parameters is not wanted:
                for parameter in parameters:
                    parameter.grad = None

    def groups(self, learning_rates: dict[str, float] | None = None) -> list[dict]:
        """Parameter groups for an optimizer, one a part, each with its own learning rate if given."""
        rates = learning_rates or {}
        unknown = rates.keys() - self.parameters.keys()
        if unknown:
            raise KeyError(f"learning rates of unknown parts: {', '.join(sorted(unknown))}")
        return [
            {"params": parameters, "part": part, **({"lr": rates[part]} if part in rates else {})}
            for part, parameters in self.parameters.items()
            if parameters
        ]


def freeze(model: torch.nn.Module, partition: Partition, part: str) -> Parts:
    """Freezes all parameters but one part's: freeze-then-train. Returns the parts, to train another one later."""
    parts = Parts(model, partition)
    parts.train_only(part)
    if not parts.of(part):
        raise ValueError(f"nothing to train: part {part!r} has no trainable parameter")
    return parts
