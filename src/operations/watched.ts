import { itemAt } from '../base/lookup.js';
import type { ProgramNode } from '../native/job.js';

/** Operations that take the bits of their inputs as they are. */
const movesBits: ReadonlySet<ProgramNode['kind']> = new Set(['select', 'assemble', 'fillRows']);

/** True if a node is not finite wherever this input is not. */
const passesOn = (node: ProgramNode, input: number): boolean => {
  if (node.kind === 'vote') return node.election === null || input === 0;
  return node.kind === 'linear' || node.kind === 'rowLinear' || node.kind === 'nearSwap';
};

/**
 * Returns the values of a program to look at, so that no element that is computed with, or is a result, is NaN or
 * infinite without being seen. Results tell of what they are sums of; a value that may be pruned is looked at itself.
 * What is moved bit by bit is not looked at.
 *
 * @param nodes of the program; values are numbered with the sources first
 * @param sources how many those are
 * @param results values that are written, or rounded as if they were
 */
export const watchedValues = (
  nodes: readonly ProgramNode[],
  sources: number,
  results: readonly number[],
): number[] => {
  const watched = new Set<number>();
  const isComputed = (value: number) =>
    value >= sources && !movesBits.has(itemAt(nodes, value - sources).kind);
  /** Values whose elements a watched value tells of. */
  const told = new Set<number>();
  const watchComputed = (value: number): void => {
    if (isComputed(value)) watched.add(value);
    else if (value >= sources) itemAt(nodes, value - sources).inputs.forEach(watchComputed);
  };
  results.forEach(watchComputed);
  const taken = new Set<number>();
  // A node's inputs stand before it.
  for (const [index, node] of [...nodes.entries()].reverse()) {
    const value = sources + index;
    if (!isComputed(value) || node.kind === 'product') continue;
    const tells = watched.has(value) || told.has(value);
    for (const [at, input] of node.inputs.entries())
      if (tells && passesOn(node, at)) told.add(input);
      else if (!isComputed(input)) taken.add(input);
  }
  for (const value of taken) if (!told.has(value)) watched.add(value);
  return [...watched].sort((a, b) => a - b);
};
