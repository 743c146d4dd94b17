import * as z from 'zod';

const short = z.string().max(1000);

/** A data set of a run, as `train init` asks for it. */
const askedData = z.object({
  name: short,
  /** The hub's id; absent for a file. */
  hub: short.exactOptional(),
  licence: short.exactOptional(),
  kind: short,
  /** Rows that the mix asks for; a smaller set gives fewer, and the others more. */
  rows: z.number(),
});

export type AskedData = z.output<typeof askedData>;

/** A run as a training's manifest records it; earlier versions recorded less. */
export const runFacts = z.object({
  language: short.nullable(),
  method: short,
  trainer: short.exactOptional(),
  seed: z.number().exactOptional(),
  rank: z.number().exactOptional(),
  row: z.record(short, z.union([z.number(), short])).exactOptional(),
  data: z.array(askedData).max(1000).exactOptional(),
});

export type RunFacts = z.output<typeof runFacts>;

export const trainedModel = runFacts.extend({
  model: short,
  run: short,
  /** Training step; null if the manifest names no checkpoint of this path. */
  step: z.number().nullable(),
});

export type TrainedModel = z.output<typeof trainedModel>;
