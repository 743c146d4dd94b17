import { describeArchitecture } from '../../models/architecture/architecture.js';
import { spellingsLike } from '../../models/architecture/canonical-names.js';
import type { CheckpointIndex } from '../../models/checkpoint/checkpoint.js';
import type { Model } from './inputs/compatible.js';
import type { OpenedModel } from './inputs/models.js';

/** Renames tensors to the names in `first`: classes of model and versions of transformers differ in names. */
export const inSpelling = <M extends Model>(first: Model, other: M): M =>
  respelt(other, spellingsOf(first, other));

export const inSpellingOf = (first: OpenedModel, other: OpenedModel): OpenedModel => {
  const spellings = spellingsOf(first, other);
  if (spellings.size === 0) return other;
  const former = new Map([...spellings].map(([name, spelt]) => [spelt, name]));
  return {
    ...respelt(other, spellings),
    operandOf: (name) => other.operandOf(former.get(name) ?? name),
  };
};

/** Returns new names by old name. A mix of Meta's and Hugging Face's names is refused elsewhere. */
const spellingsOf = (first: Model, { checkpoint, architecture }: Model): ReadonlyMap<string, string> =>
  first.architecture.naming === architecture.naming
    ? spellingsLike(checkpoint.tensors.keys(), first.checkpoint.tensors.keys())
    : new Map();

const respelt = <M extends Model>(model: M, spellings: ReadonlyMap<string, string>): M => {
  const [example] = spellings;
  if (example === undefined) return model;
  const { checkpoint } = model;
  const { tensors, stored = tensors, copies, warnings } = checkpoint;
  const spell = (name: string): string => spellings.get(name) ?? name;
  const renamed: CheckpointIndex = {
    ...checkpoint,
    tensors: new Map([...tensors].map(([name, reference]) => [spell(name), reference])),
    stored,
    ...(copies === undefined ? {} : { copies: new Set([...copies].map(spell)) }),
    warnings: [
      ...warnings,
      `${checkpoint.name} names ${example[0]} what the first model names ${example[1]}: they are taken for one`,
    ],
  };
  return withCheckpoint(model, renamed);
};

export const withCheckpoint = <M extends Model>(model: M, checkpoint: CheckpointIndex): M => ({
  ...model,
  checkpoint,
  architecture: describeArchitecture(checkpoint),
});
