import { itemAt } from '../../base/lookup.js';
import type { ProgramNode } from '../../native/job.js';

/** Operations that take the bits of their inputs as they are. */
const movesBits: ReadonlySet<ProgramNode['kind']> = new Set(['select', 'assemble', 'fillRows']);

/** Operations whose inputs are whole tensors, and no values of the elements. */
const ofWhole: ReadonlySet<ProgramNode['kind']> = new Set(['product', 'combineRows']);

/** True if a node is not finite wherever this input is not. */
const passesOn = (node: ProgramNode, input: number): boolean => {
  if (node.kind === 'vote') return node.election === null || input === 0;
  return node.kind === 'linear' || node.kind === 'rowLinear' || node.kind === 'nearSwap';
};

/**
 * Returns the values of a program to look at, so that no element that a result is computed with, or is, is NaN or infinite
 * without being seen. Results tell of what they are sums of; a value that may be pruned is looked at itself. What is moved
 * bit by bit is not looked at. Each result by itself: what one tells of, another that is made of it may leave out.
 *
 * @param nodes of the program; values are numbered with the sources first
 * @param sources how many those are
 * @param result a value that is written
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
  // A tensor that is stored in another form is an input: it is looked at itself, and not the stored ones that it is made of.
  const isInput = (value: number) =>
    value < sources || ['dequantise', 'unpack'].includes(itemAt(nodes, value - sources).kind);
  // What is quantised is looked at, and not the codes that no number is made of.
  const isComputed = (value: number) => {
    if (isInput(value)) return false;
    const { kind } = itemAt(nodes, value - sources);
    return kind !== 'quantise' && !movesBits.has(kind);
  };
  /** Values whose elements a watched value tells of. */
  const told = new Set<number>();
  const watchComputed = (value: number): void => {
    if (isComputed(value)) watched.add(value);
    else if (!isInput(value)) itemAt(nodes, value - sources).inputs.forEach(watchComputed);
  };
  for (const one of results) if (parts.has(one)) watchComputed(one);
  const taken = new Set<number>();
  // A node's inputs stand before it.
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

/** Returns a value and all that it is made of. */
const partsOf = (nodes: readonly ProgramNode[], sources: number, value: number): ReadonlySet<number> => {
  const parts = new Set([value]);
  // A set yields what is added while it is walked.
  for (const part of parts)
    if (part >= sources) for (const input of itemAt(nodes, part - sources).inputs) parts.add(input);
  return parts;
};
