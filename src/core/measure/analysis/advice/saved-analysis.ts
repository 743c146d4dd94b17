import { join } from 'node:path';
import * as z from 'zod';
import { layerNumber } from '../../../models/architecture/layer-numbers.js';
import { type JsonFile, readJsonFile } from '../../../models/checkpoint/files/json-file.js';
import { fileName } from '../analysis.js';
import type { Overlap, OverlapPart } from '../overlap.js';
import { factsSchema } from '../vectors-file.js';
import type { Proposal } from './proposal.js';
import { isThreshold } from './thresholds.js';
import type { TopOverlap, TopOverlapPart } from './top-overlap.js';

type Fail = JsonFile<unknown>['fail'];

/** File of overlaps; absent for a single expert. */
export const overlapsName = 'overlap.json';

/** File of overlaps of the largest changes; present if requested. */
export const topOverlapsName = 'top-overlap.json';

/** File of proposals; absent if experts have no roles. */
export const proposalsName = 'proposals.json';

export const expertFile = (name: string): string => `${fileName(name)}.json`;

const share = z.number().min(0).max(1);

const partSchema: z.ZodType<OverlapPart> = z.object({
  layer: layerNumber.nullable(),
  cosine: z.number().nullable(),
  signAgreement: share.nullable(),
  rowsAboveInBoth: share,
});

const overlapsSchema: z.ZodType<Overlap[]> = z.array(
  z.object({
    experts: z.tuple([z.string(), z.string()]),
    parts: z.array(partSchema),
    whole: partSchema,
  }),
);

const topPartSchema: z.ZodType<TopOverlapPart> = z.object({
  layer: layerNumber.nullable(),
  rows: z.int().nonnegative(),
  inBoth: z.int().nonnegative(),
  shared: share.nullable(),
  chance: share.nullable(),
});

const topOverlapsSchema: z.ZodType<TopOverlap[]> = z.array(
  z.object({
    experts: z.tuple([z.string(), z.string()]),
    topShare: share,
    parts: z.array(topPartSchema),
    whole: topPartSchema,
  }),
);

/** Cosines, by which checkpoints are chosen. The file may be another program's. */
const cosinesSchema: z.ZodType<(Pick<Overlap, 'experts'> & { whole: Pick<OverlapPart, 'cosine'> })[]> =
  z.array(
    z.object({
      experts: z.tuple([z.string(), z.string()]),
      whole: z.object({ cosine: z.number().nullable() }),
    }),
  );

const overlapsReader =
  <T>(schema: z.ZodType<T>, name = overlapsName) =>
  (analysis: string, fail: Fail): Promise<T> =>
    readJsonFile(join(analysis, name), { schema, what: 'a list of overlaps', fail });

/** @throws what `fail` returns */
export const readOverlaps = overlapsReader(overlapsSchema);

export const readTopOverlaps = overlapsReader(topOverlapsSchema, topOverlapsName);

export const readCosines = overlapsReader(cosinesSchema);

const readerOf =
  <T>(schema: z.ZodType<T>) =>
  (file: string, fail: Fail): Promise<T> =>
    readJsonFile(file, { schema, what: 'the analysis of an expert', fail });

export const readFacts = readerOf(factsSchema);

export const readThreshold = readerOf(
  z.object({ threshold: z.custom<number>(isThreshold, 'is not a threshold; run analyze again') }),
);

export const readShares = readerOf(z.object({ shares: z.object({ layers: z.array(z.number()) }) }));

const layerCount = z.int().nonnegative();

export const readProposals = (
  file: string,
  fail: Fail,
): Promise<readonly Pick<Proposal, 'task' | 'language' | 'bottom' | 'top'>[]> =>
  readJsonFile(file, {
    schema: z.array(
      z.object({ task: z.string(), language: z.string(), bottom: layerCount, top: layerCount }),
    ),
    what: 'a list of proposed swaps',
    fail,
  });
