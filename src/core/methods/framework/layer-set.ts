import * as z from 'zod';
import { mostLayers } from '../../models/architecture/layer-numbers.js';

/** A number, a text such as `0-4,30,31`, or a list of both. */
export type LayerSet = number | string | readonly (number | string)[];

const highest = mostLayers - 1;

const expected = `layers as numbers and ranges, such as 0-4,30,31, each named once and none above ${highest}`;

const numberSchema = z.int({ error: expected }).nonnegative({ error: expected });

/** Parses `7` or `0-4`; accepts an en dash too. */
const rangeOf = (text: string): readonly number[] | undefined => {
  const groups = /^\s*(?<first>\d{1,5})(\s*[-–]\s*(?<last>\d{1,5}))?\s*$/.exec(text)?.groups;
  if (groups === undefined) return undefined;
  const first = Number(groups['first']);
  const last = Number(groups['last'] ?? first);
  if (last < first || last > highest) return undefined;
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
};

/** Returns layers in ascending order; undefined for a malformed set or a layer named twice. */
export const parseLayers = (set: LayerSet): readonly number[] | undefined => {
  const entries = (typeof set === 'object' ? set : [set]).flatMap((entry) => String(entry).split(','));
  const found: number[] = [];
  for (const entry of entries) {
    const range = rangeOf(entry);
    if (range === undefined) return undefined;
    found.push(...range);
    if (found.length > highest + 1) return undefined;
  }
  const layers = [...new Set(found)].sort((a, b) => a - b);
  return layers.length === found.length ? layers : undefined;
};

/** Formats layers as `0-4,30-31`. */
export const formatLayers = (layers: readonly number[]): string => {
  const runs: [number, number][] = [];
  for (const layer of layers) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === layer - 1) last[1] = layer;
    else runs.push([layer, layer]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
};

export const layerSetSchema = z
  .union([numberSchema, z.string({ error: expected }), z.array(z.union([numberSchema, z.string()]))], {
    error: expected,
  })
  .refine((set) => parseLayers(set) !== undefined, { error: expected });
