import { layerloomCommand } from '../../../base/errors/command-line.js';
import { type Partition, partNames } from '../partition.js';
import { patternsOf } from '../regexes.js';

/** Returns a Python string literal, raw only if all characters are harmless, because names are untrusted. */
const literal = (text: string): string =>
  /^[\w.^$()|\\-]*[\w.^$()|-]$/.test(text) ? `r"${text}"` : JSON.stringify(text);

const list = (patterns: readonly string[]): string =>
  patterns.length === 0
    ? '[]'
    : `[\n${patterns.map((pattern) => `        ${literal(pattern)},\n`).join('')}    ]`;

/**
 * Returns a Python module that sets `requires_grad` by name, for any training loop (`train_only`) and as a
 * callback of transformers' `Trainer` (`TrainOnly`). It refuses parameters in no part: they belong to another
 * model.
 */
export const pythonModule = (
  partition: Partition,
): string => `"""Trains one part of a model's parameters, and freezes the others.

Written by \`${layerloomCommand('partition')}\` for ${JSON.stringify(partition.base.name).slice(1, -1)}.

    train_only(model, "language")                             # any training loop
    Trainer(model, ..., callbacks=[TrainOnly("language")])    # transformers
"""

import re

from transformers import TrainerCallback

# Regular expressions for names of parameters. A training of the language updates "language" and "both", one of
# the task "task" and "both".
PARTS = {
${partNames.map((part) => `    "${part}": ${list(patternsOf(partition, partition.parts[part]))},`).join('\n')}
}


def train_only(model, side):
    """Lets the parameters of one side ("language" or "task") train, and freezes all others.

    Returns the names of those that train.
    """
    if side not in ("language", "task"):
        raise ValueError(f'side: expected "language" or "task", got {side!r}')
    # Some checkpoints lack the prefix that the model's own names have.
    prefix = getattr(model, "base_model_prefix", "") + "."
    trained = []
    for name, parameter in model.named_parameters():
        names = {name, name.removeprefix(prefix)}
        parts = [
            part
            for part, patterns in PARTS.items()
            if any(re.match(pattern, each) for pattern in patterns for each in names)
        ]
        if len(parts) != 1:
            raise ValueError(f"{name} is in {len(parts)} parts: this partition is of another model")
        parameter.requires_grad_(parts[0] in (side, "both"))
        if parameter.requires_grad:
            trained.append(name)
    return trained


class TrainOnly(TrainerCallback):
    """Calls \`train_only\` before the trainer makes its optimizer."""

    def __init__(self, side):
        self.side = side

    def on_init_end(self, args, state, control, model=None, **kwargs):
        train_only(model, self.side)
`;
