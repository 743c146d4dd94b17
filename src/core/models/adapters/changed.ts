import { argument, layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { isFloating } from '../../tensor/dtype.js';
import type { Shape, TensorReference } from '../../tensor/reference.js';
import { embeddingOf, headOf, isTied } from '../architecture/ties.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { vocabularyEdits } from '../checkpoint/config/token-ids.js';
import { unreadSettings } from '../quantisation/dequantised.js';
import type { Adapter, LowRankPair } from './adapter.js';
import { checkComplete } from './check-complete.js';
import { isConv1d } from './conv1d.js';
import { mismatchOf, pairsByTensor, replacedByTensor } from './experts.js';
import { asInBase } from './in-base.js';
import { addition } from './kinds/kinds.js';
import { addTaskHead, isOfTaskHead } from './task-head.js';
import { parseAdapterTensor } from './tensor-names.js';
import { checkStored, convolved, tunedTensor } from './tuned-tensor.js';

export interface Changed {
  readonly tensors: ReadonlyMap<string, TensorReference>;
  /** Edits of the base's `config.json`. */
  readonly configEdits: Readonly<Record<string, unknown>>;
  readonly replaced: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Returns a base's tensors with an adapter: changed ones carry a `change`, replaced ones refer to the
 * adapter's file. Reads no weights.
 *
 * @param ofAdapter maps a reference to a file of the adapter to the combined list of files
 * @throws ADAPTER_INVALID, ADAPTER_MISMATCH, ADAPTER_UNSUPPORTED, QUANTISED_WEIGHTS
 */
export const changedBy = (
  base: CheckpointIndex,
  given: Adapter,
  ofAdapter: (reference: TensorReference) => TensorReference,
): Changed => {
  const named = asInBase(base, given);
  const adapter = { ...named, pairs: pairsByTensor(base, named), replaced: replacedByTensor(base, named) };
  const { checkpoint } = adapter;
  const tensors = new Map(base.tensors);
  const configEdits = {
    ...replaceWhole(base, adapter, tensors, ofAdapter),
    ...addTaskHead(base, { ...given, replaced: adapter.replaced }, tensors),
    ...untie(base, adapter, tensors),
  };
  const changeable = changeableIn(base, adapter, tensors);
  for (const [name, pair] of adapter.pairs) {
    const reference = changeable(name);
    const { a, b, beside, rank, scale, experts } = pair;
    if (pair.isConvolution) {
      tensors.set(name, {
        ...reference,
        change: convolved(base, adapter, { name, pair, shape: reference.shape, place: ofAdapter }),
      });
      continue;
    }
    const transposed =
      experts === undefined ? isTransposed(base, adapter, name, pair, reference.shape) : pair.transposed;
    checkStored(base, adapter, name, reference);
    const change = adapter.config.kind.change({
      a: ofAdapter(a),
      b: ofAdapter(b),
      beside: beside && ofAdapter(beside),
      ...{ rank, scale, transposed, experts },
    });
    tensors.set(name, { ...reference, change });
  }
  for (const [name, change] of adapter.changes)
    if (change.optional === undefined || tensors.has(name))
      tensors.set(name, tunedTensor(base, adapter, changeable(name), { name, change, place: ofAdapter }));
  for (const [name, { tensor, scale }] of adapter.added) {
    if (!tensors.has(name))
      throw new LayerloomError('ADAPTER_UNSUPPORTED', {
        file: itemAt(checkpoint.files, 0).path,
        what: 'lora_bias',
        reason: `adds to ${name}, and ${base.path} has no such bias; PEFT does not merge it either`,
        remedy: 'load the adapter beside its base, or train one without lora_bias',
      });
    const reference = changeable(name);
    if (reference.shape.join() !== tensor.shape.join())
      throw mismatchOf(
        base,
        adapter,
        name,
        `is [${reference.shape.join(', ')}] in the base, and [${tensor.shape.join(', ')}] in the adapter`,
      );
    tensors.set(name, { ...reference, change: addition(ofAdapter(tensor), scale) });
  }
  return {
    tensors,
    configEdits,
    replaced: [...adapter.replaced.keys()],
    warnings: checkComplete(base, adapter),
  };
};

/** Gives a tied head its own tensor if factors change only it or only the embeddings. */
const untie = (
  base: CheckpointIndex,
  { pairs, config }: Adapter,
  tensors: Map<string, TensorReference>,
): Record<string, unknown> => {
  const [embedding = '', head] = [embeddingOf(base), headOf(base)];
  const shared = tensors.get(embedding);
  const isOneUse = pairs.has(head) || (pairs.has(embedding) && !config.keepsTie);
  if (!isTied(base) || shared === undefined || !isOneUse) return {};
  tensors.set(head, shared);
  return { tie_word_embeddings: false };
};

/** Tensors in which quantised weights are stored. */
const scales =
  /\.(weight_scale|weight_scale_inv|weight_packed|qweight|qzeros|SCB|weight\.(absmax|quant_map))/;

const quantisedModules = ({ tensors }: CheckpointIndex): ReadonlySet<string> => {
  const modules = new Set<string>();
  for (const name of tensors.keys()) {
    if (!scales.test(name)) continue;
    for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1))
      modules.add(name.slice(0, dot));
  }
  return modules;
};

const changeableIn = (
  base: CheckpointIndex,
  adapter: Adapter,
  tensors: ReadonlyMap<string, TensorReference>,
): ((name: string) => TensorReference) => {
  const packed = quantisedModules(base);
  const isUnknown = unreadSettings(base) !== undefined;
  return (name) => {
    const reference = tensors.get(name);
    if (isUnknown || packed.has(name.slice(0, Math.max(0, name.lastIndexOf('.')))))
      throw new LayerloomError('QUANTISED_WEIGHTS', { model: base.path, tensor: name });
    if (reference === undefined) throw mismatchOf(base, adapter, name, 'is not in the base');
    if (base.tensors.get(name)?.change !== undefined)
      throw new LayerloomError('ADAPTER_UNSUPPORTED', {
        file: adapter.checkpoint.path,
        what: `tensor ${name}`,
        reason: `is changed by an adapter already in ${base.path}`,
        remedy: `write that first (${layerloomCommand('relayout', argument(base.path), '-o', 'DIR')}), and add this one to it`,
      });
    if (!isFloating(reference.dtype))
      throw new LayerloomError('QUANTISED_WEIGHTS', { model: base.path, tensor: name });
    return reference;
  };
};

/** True if the factors' product must be transposed. Throws if it does not fit the base tensor's shape. */
const isTransposed = (
  base: CheckpointIndex,
  adapter: Adapter,
  name: string,
  { a, b, names, transposed: configured }: LowRankPair,
  shape: Shape,
): boolean => {
  if (shape.length !== 2)
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: itemAt(adapter.checkpoint.files, 0).path,
      what: `tensor ${names.a}`,
      reason: `changes a parameter of ${shape.length} dimensions ([${shape.join(', ')}]), as experts of a mixture have, which is not supported`,
    });
  const isEmbedding = names.a.includes('lora_embedding_A');
  // PEFT decides this by module type; `fan_in_fan_out` does not override it.
  const transposed = isEmbedding || (isConv1d(base.config, name) ?? configured);
  const [out, inner] = [itemAt(b.shape, 0), itemAt(a.shape, 1)];
  const product = transposed ? [inner, out] : [out, inner];
  if (product.join() !== shape.join())
    throw mismatchOf(
      base,
      adapter,
      name,
      `is [${shape.join(', ')}] in the base, and the product of ${names.b} and ${names.a} is [${product.join(', ')}]`,
    );
  return transposed;
};

/** Replaces base tensors by tensors that the adapter saved whole. Returns the `config.json` keys to change. */
const replaceWhole = (
  base: CheckpointIndex,
  adapter: Adapter,
  tensors: Map<string, TensorReference>,
  ofAdapter: (reference: TensorReference) => TensorReference,
): Record<string, unknown> => {
  const { replaced, config } = adapter;
  const embedding = embeddingOf(base);
  const head = headOf(base);
  const tied = isTied(base);
  let edits: Record<string, unknown> = {};
  for (const [name, { tensor }] of replaced) {
    const own = base.tensors.get(name);
    const isHead = tied && name === head;
    if (own === undefined && isOfTaskHead(adapter, name)) {
      tensors.set(name, ofAdapter(tensor));
      continue;
    }
    if (own === undefined && !isHead) throw mismatchOf(base, adapter, name, 'is not in the base');
    const like = own ?? base.tensors.get(embedding ?? '');
    const isVocabulary = name === embedding || name === head;
    const [rows = 0, ...width] = tensor.shape;
    const [rowsBefore = 0, ...widthBefore] = like?.shape ?? [];
    if (width.join() !== widthBefore.join() || (rows !== rowsBefore && !isVocabulary))
      throw mismatchOf(
        base,
        adapter,
        name,
        `is [${like?.shape.join(', ')}] in the base, and [${tensor.shape.join(', ')}] in the adapter`,
      );
    if (rows !== rowsBefore && base.config !== undefined)
      edits = { ...edits, ...vocabularyEdits(base.config, { from: rowsBefore, to: rows, idOf: (id) => id }) };
    if (!isHead) tensors.set(name, ofAdapter(tensor));
  }
  const rows = new Set([embedding, head].flatMap((name) => tensors.get(name ?? '')?.shape[0] ?? []));
  if (rows.size > 1)
    throw mismatchOf(
      base,
      adapter,
      String(head),
      `and ${embedding} would have ${[...rows].join(' and ')} rows`,
    );
  if (config.keepsTie) return edits;
  const tuners = config.tuners.map(({ tuner }) => tuner);
  const isTrained = (name = '') => {
    const own = replaced.get(name);
    const isSaved = config.modulesToSave.some((module) => name.includes(module));
    return own !== undefined && (isSaved || parseAdapterTensor(own.name, tuners).kind === 'part');
  };
  if (!tied || !(isTrained(embedding) || isTrained(head))) return edits;
  // Separately trained weights are no longer tied; PEFT unties them too.
  const untied = replaced.get(head)?.tensor;
  const shared = base.tensors.get(embedding ?? '');
  if (untied !== undefined) tensors.set(head, ofAdapter(untied));
  else if (shared !== undefined) tensors.set(head, shared);
  return { ...edits, tie_word_embeddings: false };
};
