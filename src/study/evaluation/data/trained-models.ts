import * as z from 'zod';

const short = z.string().max(1000);

const askedData = z.object({
  name: short,
  hub: short.exactOptional(),
  licence: short.exactOptional(),
  kind: short,
  /** Rows requested by the mix; if the data set is smaller, other data sets supply more rows. */
  rows: z.number(),
});

export type AskedData = z.output<typeof askedData>;

/** Training run in its manifest; earlier versions recorded less. */
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
  /** Training step; null if the manifest does not list this checkpoint. */
  step: z.number().nullable(),
});

export type TrainedModel = z.output<typeof trainedModel>;
