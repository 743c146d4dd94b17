import { join } from 'node:path';
import * as z from 'zod';
import { layerNumber } from '../../models/architecture/layer-numbers.js';
import { type JsonFile, readJsonFile } from '../../models/checkpoint/json-file.js';
import { fileName } from './analysis.js';
import type { Overlap, OverlapPart } from './overlap.js';
import type { Proposal } from './proposal.js';
import { isThreshold } from './thresholds.js';
import type { TopOverlap, TopOverlapPart } from './top-overlap.js';
import { factsSchema } from './vectors-file.js';

type Fail = JsonFile<unknown>['fail'];

/** File of an analysis's overlaps, in its directory; absent for one expert. */
export const overlapsName = 'overlap.json';

/** File of the overlaps of the largest changes, in an analysis's directory; absent where they were not asked for. */
export const topOverlapsName = 'top-overlap.json';

/** File of an analysis's proposals, in its directory; absent where experts have no roles. */
export const proposalsName = 'proposals.json';

/** File of what an analysis found in an expert, in its directory. */
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

/** What a choice of checkpoints needs of overlaps, which may be another program's. */
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

/** Reads the overlaps that `analyze` wrote into a directory. @throws what `fail` returns */
export const readOverlaps = overlapsReader(overlapsSchema);

/** Reads the overlaps of largest changes that `analyze` wrote into a directory. @throws what `fail` returns */
export const readTopOverlaps = overlapsReader(topOverlapsSchema, topOverlapsName);

/** Reads the cosines of overlaps alone. @throws what `fail` returns */
export const readCosines = overlapsReader(cosinesSchema);

const readerOf =
  <T>(schema: z.ZodType<T>) =>
  (file: string, fail: Fail): Promise<T> =>
    readJsonFile(file, { schema, what: 'the analysis of an expert', fail });

/** Reads the model, its base and the change of each tensor from an expert's file. @throws what `fail` returns */
export const readFacts = readerOf(factsSchema);

/** Reads the threshold by which an expert's rows were counted. @throws what `fail` returns */
export const readThreshold = readerOf(
  z.object({ threshold: z.custom<number>(isThreshold, 'is not a threshold; run analyze again') }),
);

/** Reads the shares of an expert's change by layer. @throws what `fail` returns */
export const readShares = readerOf(z.object({ shares: z.object({ layers: z.array(z.number()) }) }));

const layerCount = z.int().nonnegative();

/** Reads the numbers of layers that an analysis proposes for pairs. @throws what `fail` returns */
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
