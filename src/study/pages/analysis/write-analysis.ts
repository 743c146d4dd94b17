import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { itemAt } from '../../../core/base/errors/lookup.js';
import { version } from '../../../core/base/files/version.js';
import { reading, writing } from '../../../core/base/files/writing.js';
import { keptValue } from '../../../core/base/way.js';
import { makeDirectories, writeWhole } from '../../../core/engine/output/durable.js';
import type { ExpertRoles } from '../../../core/measure/analysis/advice/expert-roles.js';
import {
  overlapsName,
  proposalsName,
  topOverlapsName,
} from '../../../core/measure/analysis/advice/saved-analysis.js';
import { type TopOverlap, topOverlapsOf } from '../../../core/measure/analysis/advice/top-overlap.js';
import {
  type Analysis,
  analyseAt,
  fileName,
  type MavVectors,
  vectorsName,
} from '../../../core/measure/analysis/analysis.js';
import type { Overlap } from '../../../core/measure/analysis/overlap.js';
import { type Shares, sharesOf } from '../../../core/measure/analysis/shares.js';
import { encodeVectors } from '../../../core/measure/analysis/vectors-file.js';
import { findWeights } from '../../../core/models/checkpoint/containers/containers.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { mostCsvBytes } from '../../../core/texts/csv.js';
import { drawPicture } from '../pictures/draw-picture.js';
import { describeRows, HeatMap } from '../pictures/heat-map.js';
import { OverlapPicture, TopOverlapPicture } from '../pictures/overlap.js';
import { analysisOf, stopsPerDecade } from './analysis-data.js';
import { writeAnalysisPage } from './analysis-page.js';
import { pageName, recordOf, removeFormerAnalysis } from './analysis-record.js';
import { encodeTable, mostOf, type PublishedTable, parseTable, tableOf } from './analysis-table.js';
import { type ProposedSwap, proposedSwaps, type SwapSettings } from './proposed-swaps.js';
import { encodeTopOverlaps } from './top-overlap-table.js';

export interface WrittenAnalysis {
  readonly out: string;
  /** Names of written files in `out`. */
  readonly files: readonly string[];
  readonly experts: readonly Analysis[];
  readonly shares: readonly (Shares & { readonly name: string })[];
  readonly overlaps: readonly Overlap[];
  /** Overlaps of the largest changes; empty without `topShare`. */
  readonly topOverlaps: readonly TopOverlap[];
  /** Proposed numbers of layers to swap, by pair of task and language expert; empty without roles. */
  readonly proposals: readonly ProposedSwap[];
  /** Sentences that interpret the figures. */
  readonly advice: readonly string[];
}

/** Analysis, its files, and its cost. */
export interface AnalysisResult extends WrittenAnalysis {
  readonly bytesRead: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

interface AnalysisSettings {
  thresholds: readonly number[];
  bottom: number;
  top: number;
  published: readonly PublishedTable[];
  roles: ExpertRoles;
  topShare: number | undefined;
  swaps: SwapSettings;
}

/**
 * Writes an analysis's files and removes an earlier analysis's files:
 *
 * - for each expert: `NAME.json`, `.csv`, `.svg` and `.mav.safetensors`
 * - for each pair: `A+B.overlap.svg`; with `topShare`, `A+B.top-overlap.svg`
 * - for all: `overlap.json` and `index.html`; with `topShare`, `top-overlap.json` and `.csv`; with roles,
 * `proposals.json`
 *
 * @throws WRITE_FAILED
 */
export const writeAnalysis = async (
  vectors: readonly MavVectors[],
  overlaps: readonly Overlap[],
  { thresholds, bottom, top, published, roles, topShare, swaps }: AnalysisSettings,
  out: string,
): Promise<WrittenAnalysis> => {
  const directory = resolve(out);
  checkFileNames(vectors);
  const files = new Map<string, readonly (string | Uint8Array)[]>();
  const tables = vectors.map((mav, index) => tableOf(mav, itemAt(thresholds, index)));
  const most = mostOf([...tables, ...published]);
  const experts = vectors.map((mav, index) => analyseAt(mav, itemAt(thresholds, index)));
  const shares = vectors.map((mav) => sharesOf(mav, bottom, top));
  for (const [index, mav] of vectors.entries()) {
    const name = fileName(mav.name);
    const table = itemAt(tables, index);
    const analysis = { layerloom: version, ...itemAt(experts, index), shares: itemAt(shares, index) };
    files.set(`${name}.json`, [`${JSON.stringify(analysis, keptValue, 2)}\n`]);
    files.set(`${name}.csv`, [encodeTable(table)]);
    files.set(vectorsName(mav.name), encodeVectors(mav));
    files.set(`${name}.svg`, [
      drawPicture(HeatMap, {
        title: mav.name,
        subtitle: describeRows({
          rows: mav.rows,
          threshold: itemAt(thresholds, index),
          base: mav.base.name,
        }),
        columns: table.columns.map(({ label }) => label),
        cells: table.cells,
        most,
      }),
    ]);
  }
  for (const overlap of overlaps)
    files.set(`${overlap.experts.map(fileName).join('+')}.overlap.svg`, [
      drawPicture(OverlapPicture, { overlap }),
    ]);
  if (overlaps.length > 0) files.set(overlapsName, [`${JSON.stringify(overlaps, null, 2)}\n`]);
  const topOverlaps = topShare === undefined ? [] : topOverlapsOf(vectors, topShare);
  for (const overlap of topOverlaps)
    files.set(`${overlap.experts.map(fileName).join('+')}.top-overlap.svg`, [
      drawPicture(TopOverlapPicture, { overlap }),
    ]);
  if (topOverlaps.length > 0) {
    files.set(topOverlapsName, [`${JSON.stringify(topOverlaps, null, 2)}\n`]);
    files.set('top-overlap.csv', [encodeTopOverlaps(topOverlaps)]);
  }
  const proposals = proposedSwaps(vectors, roles, swaps);
  if (proposals.length > 0) files.set(proposalsName, [`${JSON.stringify(proposals, null, 2)}\n`]);
  const page = analysisOf(vectors, overlaps, {
    ...{ bottom, top, thresholds, published, topOverlaps, proposals, roles },
    perDecade: stopsPerDecade.analysis,
  });
  files.set(pageName, [await writeAnalysisPage(page), recordOf([...files.keys(), pageName])]);

  await writing(directory, async () => {
    await removeFormerAnalysis(directory, files);
    for (const [name, parts] of files) await writeWhole(join(directory, name), parts);
  });
  return {
    out: directory,
    files: [...files.keys()],
    experts,
    shares: shares.map((own, index) => ({ name: itemAt(vectors, index).name, ...own })),
    overlaps,
    topOverlaps,
    proposals,
    advice: page.advice,
  };
};

/** File names that no expert may have: names of shared files and of a checkpoint's files. */
const reserved = [
  'overlap',
  'top-overlap',
  'proposals',
  'index',
  'config',
  'model',
  'generation_config',
  'tokenizer',
];

/** Refuses experts whose files would overwrite each other, even if only on a case-insensitive file system. */
const checkFileNames = (vectors: readonly MavVectors[]): void => {
  const names = new Map<string, string>();
  for (const { name, expert } of vectors) {
    const key = fileName(name).toLowerCase();
    const twin = names.get(key);
    if (twin !== undefined) throw new LayerloomError('NAME_CLASH', { name, paths: [twin, expert.path] });
    if (reserved.includes(key))
      throw invalidParameter(
        'experts',
        name,
        `another name (NAME=PATH), because ${name}.json is reserved for another file`,
      );
    names.set(key, expert.path);
  }
};

/**
 * Creates the directory. Refuses a checkpoint's directory, because its files could be mistaken for the
 * analysis's.
 *
 * @throws OUTPUT_INVALID, INVALID_PARAMETER, WRITE_FAILED
 */
export const prepareDirectory = async (out: string): Promise<void> => {
  if (typeof out !== 'string' || out === '') throw invalidParameter('out', out, 'a directory');
  const directory = resolve(out);
  await writing(directory, () => makeDirectories(directory));
  const names = await readdir(directory).catch((): string[] => []);
  if (names.includes('config.json') || findWeights(names) !== undefined)
    throw new LayerloomError('OUTPUT_INVALID', {
      out: directory,
      reason: 'contains a checkpoint; choose another directory for the analysis',
    });
};

/**
 * Reads a published table (CSV), named after its file.
 *
 * @throws READ_FAILED, INVALID_PARAMETER
 */
export const readPublishedTable = async (path: string): Promise<PublishedTable> => {
  const limit = { most: mostCsvBytes, what: 'a table' };
  const text = await reading(path, () => readSmallFile(path, limit));
  const table = parseTable(text.toString());
  if (table === undefined)
    throw invalidParameter(
      'compare',
      path,
      'a CSV table as analyze writes it: the layer, then a column for each matrix',
    );
  return { name: path.replace(/^.*\//, '').replace(/\.csv$/, ''), ...table };
};
