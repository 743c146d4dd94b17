import { itemAt } from '../../../base/errors/lookup.js';
import type { ProgramNode } from '../../../native/job.js';

const movesBits: ReadonlySet<ProgramNode['kind']> = new Set(['select', 'assemble', 'fillRows']);

/** Nodes with whole tensors as inputs, whose elements do not correspond to the output's. */
const ofWhole: ReadonlySet<ProgramNode['kind']> = new Set(['product', 'combineRows']);

/** True if the node's result is NaN or infinite wherever this input is. */
const passesOn = (node: ProgramNode, input: number): boolean => {
  if (node.kind === 'vote') return node.election === null || input === 0;
  return node.kind === 'linear' || node.kind === 'rowLinear' || node.kind === 'nearSwap';
};

/**
 * Returns the values to check, so that no NaN or infinity in a result or its computation is missed. A sum is
 * not finite if a term is not, so checking the sum is enough; a value that may be pruned must be checked
 * itself. Call this for each result, because other results may not contain these terms.
 *
 * @param results values that are written, or rounded as if they were
 */
export const watchedFor = (
  nodes: readonly ProgramNode[],
  sources: number,
  result: number,
  results: readonly number[],
): number[] => {
  const parts = partsOf(nodes, sources, result);
  const watched = new Set<number>();
  // Values read from files; a dequantised or unpacked tensor counts as read.
  const isInput = (value: number) =>
    value < sources || ['dequantise', 'unpack'].includes(itemAt(nodes, value - sources).kind);
  // Codes are not numbers, so the input of `quantise` is checked.
  const isComputed = (value: number) => {
    if (isInput(value)) return false;
    const { kind } = itemAt(nodes, value - sources);
    return kind !== 'quantise' && !movesBits.has(kind);
  };
  /** Values that need no check, because their NaN and infinity show in a watched value. */
  const told = new Set<number>();
  const watchComputed = (value: number): void => {
    if (isComputed(value)) watched.add(value);
    else if (!isInput(value)) itemAt(nodes, value - sources).inputs.forEach(watchComputed);
  };
  for (const one of results) if (parts.has(one)) watchComputed(one);
  const taken = new Set<number>();
  // A node follows its inputs, so a backward loop meets it first.
  for (const [index, node] of [...nodes.entries()].reverse()) {
    const value = sources + index;
    if (parts.has(value) && node.kind === 'quantise') taken.add(itemAt(node.inputs, 0));
    if (!parts.has(value) || !isComputed(value) || ofWhole.has(node.kind)) continue;
    const tells = watched.has(value) || told.has(value);
    for (const [at, input] of node.inputs.entries())
      if (tells && passesOn(node, at)) told.add(input);
      else if (!isComputed(input)) taken.add(input);
  }
  for (const value of taken) if (!told.has(value)) watched.add(value);
  return [...watched];
};

const partsOf = (nodes: readonly ProgramNode[], sources: number, value: number): ReadonlySet<number> => {
  const parts = new Set([value]);
  // Iterating over a set includes elements added meanwhile.
  for (const part of parts)
    if (part >= sources) for (const input of itemAt(nodes, part - sources).inputs) parts.add(input);
  return parts;
};
