import { optionName } from '../../../base/errors/option-name.js';
import { type Partition, partNames, type Side } from '../partition.js';
import { splitterOf } from '../regexes.js';
import { someTrainedBy, unsupported } from './unsupported.js';

/** Options of LLaMA-Factory's freeze tuning (`hparams/finetuning_args.py`). */
export interface LlamaFactoryOptions {
  readonly finetuning_type: 'freeze';
  /** n to train the last n layers, −n to train the first n. */
  readonly freeze_trainable_layers: number;
  /** `all`, or first parts of names in a layer, such as `self_attn,mlp`. */
  readonly freeze_trainable_modules: string;
  readonly freeze_extra_modules?: string;
}

/** Options, and the side's parameters that stay frozen (`leftOut`). */
export interface LlamaFactoryFreeze {
  readonly options: LlamaFactoryOptions;
  readonly leftOut: readonly string[];
}

const name = 'LLaMA-Factory';

/**
 * Returns options that train the first or last layers, with the same modules in each layer: LLaMA-Factory has no other
 * options. Leaves out a final `norm`: `freeze_extra_modules` matches parts of names, so it would also train each
 * `input_layernorm`.
 *
 * Checks the result against `_setup_freeze_tuning` (`model/adapter.py`) over all parameters.
 *
 * @throws PARTITION_UNSUPPORTED
 */
export const llamaFactoryFreeze = (partition: Partition, side: Side): LlamaFactoryFreeze => {
  const all = partNames.flatMap((part) => partition.parts[part]);
  const trained = new Set(someTrainedBy(partition, side, name));
  const split = splitterOf(partition);
  const layers = [...new Set([...trained].flatMap((one) => split(one)?.layer ?? []))].sort((a, b) => a - b);
  const count = endOf(layers, partition.layers, side);
  const chosen = all.filter((one) => layers.includes(split(one)?.layer ?? -1));
  const heads = [...new Set(chosen.map((one) => headOf(split(one)?.rest)))];
  const isTrained = (head: string) => (one: string) => headOf(split(one)?.rest) !== head || trained.has(one);
  const modules = heads.filter((head) => chosen.every(isTrained(head)));
  const inLayers = modules.length === heads.length ? ['all'] : modules;
  const patterns = rangeOf(count, partition.layers).flatMap((layer) =>
    inLayers.map((module) => `.${layer}.${module === 'all' ? '' : module}`),
  );
  const outside = [...trained].filter((one) => split(one) === undefined);
  const extras = [...new Set(outside.map(moduleName))].filter((module) =>
    all.every((one) => !one.includes(module) || trained.has(one)),
  );
  const reached = (one: string) => [...patterns, ...extras].some((pattern) => one.includes(pattern));
  const leftOut = outside.filter((one) => !reached(one));
  if (all.some((one) => reached(one) !== (trained.has(one) && !leftOut.includes(one))))
    throw unsupported(
      name,
      `the part of the ${side}: its modules differ from layer to layer, or their names are parts of others`,
      `partition by whole layers (${optionName('granularity', 'layer')}), or use another trainer, or the python format`,
    );
  return {
    options: {
      finetuning_type: 'freeze',
      freeze_trainable_layers: count,
      freeze_trainable_modules: inLayers.join(','),
      ...(extras.length === 0 ? {} : { freeze_extra_modules: extras.join(',') }),
    },
    leftOut,
  };
};

/**
 * Returns n for the last n layers, −n for the first n.
 *
 * @throws PARTITION_UNSUPPORTED for any other layers
 */
const endOf = (layers: readonly number[], all: number, side: Side): number => {
  const [first, last] = [layers[0] ?? 0, layers.at(-1) ?? -1];
  const isRun = last - first + 1 === layers.length;
  if (isRun && (last === all - 1 || layers.length === 0)) return layers.length;
  if (isRun && first === 0) return -layers.length;
  throw unsupported(
    name,
    `the layers of the ${side} (freeze_trainable_layers is the first or the last n)`,
    `partition with ${optionName('top', '0')} or ${optionName('bottom', '0')}, or use another trainer, or the python format`,
  );
};

const rangeOf = (count: number, layers: number): number[] =>
  Array.from({ length: Math.abs(count) }, (_, index) => (count < 0 ? index : layers - count + index));

const headOf = (rest = ''): string => rest.split('.')[0] ?? rest;

const moduleName = (parameter: string): string => parameter.split('.').at(-2) ?? parameter;
