import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { familyOfType, typesIn } from '../architecture/families.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { moduleOf } from '../checkpoint/module-folders.js';
import { foreignPrefixesOf } from './foreign-prefix.js';
import { renamed } from './renamed.js';

/** Name parts of module wrappers, anywhere in a name; models have no modules of these names. */
const anywhere: Readonly<Record<string, string>> = {
  _orig_mod: 'torch.compile',
  _fsdp_wrapped_module: 'FSDP',
  _fpw_module: 'FSDP',
  _checkpoint_wrapped_module: 'activation checkpointing',
  _forward_module: 'Lightning',
  _module: 'Opacus',
};

const [parallel, peft] = ['module', 'base_model'] as const;

interface PlainName {
  readonly name: string;
  readonly wrappers: readonly string[];
}

interface Wrappers {
  /** True for `module` and `base_model` at the start of a name. */
  readonly isLeading: (part: string) => boolean;
  /** True for `module` elsewhere. */
  readonly isInside: (part: string) => boolean;
}

/** Removes wrappers from a name: `module.model.layers.0._orig_mod.mlp` → `model.layers.0.mlp`. */
const plainName = (name: string, { isLeading, ...of }: Wrappers): PlainName => {
  if (moduleOf(name) !== undefined) return { name, wrappers: [] };
  const split = name.split('.');
  const isInside = (part: string, index: number) =>
    index < split.length - 1 && (Object.hasOwn(anywhere, part) || (index > 0 && of.isInside(part)));
  const wrappers = split.filter(isInside);
  const parts = split.filter((part, index) => !isInside(part, index));
  for (;;) {
    const [first = '', second] = parts;
    if (parts.length < 2 || !isLeading(first)) break;
    // In PEFT, `base_model` is the tuner, whose `model` is the model. Prompts have no tuner.
    wrappers.push(parts.splice(0, first === peft && second === 'model' ? 2 : 1).join('.'));
  }
  return { name: parts.join('.'), wrappers };
};

/**
 * Returns a checkpoint without wrappers (torch.compile, FSDP, DDP, PEFT) and training programs' attributes in
 * its names, with a warning: no loader accepts them.
 *
 * @throws DUPLICATE_TENSOR if a tensor exists with and without a wrapper; WEIGHTS_UNSUPPORTED for flattened
 * FSDP parameters
 */
export const withoutWrappers = (checkpoint: CheckpointIndex): CheckpointIndex => {
  const { tensors, files, path } = checkpoint;
  const names = [...tensors.keys()];
  const flat = names.find((name) => /(^|\.)_flat_param(_\d+)?$/.test(name));
  if (flat !== undefined)
    throw new LayerloomError('WEIGHTS_UNSUPPORTED', {
      file: itemAt(files, tensors.get(flat)?.file ?? 0).path,
      tensor: flat,
      reason: 'has the parameters of several modules in one, as FSDP holds them',
      remedy: 'save the full state dict (StateDictType.FULL_STATE_DICT), and give that',
    });
  const known = wrappersIn(names, checkpoint);
  const plain = new Map(names.map((name) => [name, plainName(name, known)]));
  const found = [...new Set([...plain.values()].flatMap((one) => one.wrappers))];
  const bare = renamed(checkpoint, (name) => (plain.get(name) ?? plainName(name, known)).name);
  const foreign = foreignPrefixesOf(bare).map((prefix) => `${prefix}.`);
  const wrappers = [...found.map((part) => `${part}.`), ...foreign];
  if (wrappers.length === 0) return checkpoint;
  const read = renamed(bare, (name) =>
    name.slice(foreign.find((prefix) => name.startsWith(prefix))?.length ?? 0),
  );
  const words = `its names have parts of wrappers (${wrappers.join(', ')})`;
  return {
    ...read,
    notAsLoaded: words,
    warnings: [...read.warnings, `${path}: ${words}, and are read without`],
  };
};

const wrappersIn = (names: readonly string[], { config }: Pick<CheckpointIndex, 'config'>): Wrappers => {
  const own = names
    .filter((name) => moduleOf(name) === undefined)
    .map((name) => plainName(name, inNone).name);
  // Only a model with its own code, or of an unknown family, may have such a module.
  const hasCode = config?.['auto_map'] !== undefined;
  const isKnown = !hasCode && typesIn(config).some((type) => familyOfType(type) !== undefined);
  const isAll = (pattern: RegExp) => own.length > 0 && own.every((name) => pattern.test(name));
  const isWrapped = {
    [parallel]: isKnown || (!hasCode && isAll(/^(base_model\.(model\.)?)*module\./)),
    [peft]: isKnown || isAll(/^(module\.)*base_model\./),
  };
  return {
    isLeading: (part) => Object.hasOwn(isWrapped, part) && isWrapped[part as typeof parallel | typeof peft],
    isInside: (part) => isKnown && part === parallel,
  };
};

const inNone: Wrappers = { isLeading: () => false, isInside: () => false };

/** Removes training wrappers from an adapter tensor's name, but keeps PEFT's. */
export const plainAdapterName = (name: string): string =>
  plainName(name, { isLeading: (part) => part === parallel, isInside: () => false }).name;
