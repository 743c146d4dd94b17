import { join } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt, propertyAt, valueAt } from '../../../core/base/errors/lookup.js';
import { namesIn } from '../../../core/base/files/unless-missing.js';
import { readFailed } from '../../../core/base/files/writing.js';
import { autoThreshold } from '../../../core/measure/analysis/advice/auto-threshold.js';
import type { ExpertRoles } from '../../../core/measure/analysis/advice/expert-roles.js';
import {
  overlapsName,
  readOverlaps,
  readThreshold,
  readTopOverlaps,
  topOverlapsName,
} from '../../../core/measure/analysis/advice/saved-analysis.js';
import type { TopOverlap } from '../../../core/measure/analysis/advice/top-overlap.js';
import { analyseAt, defaultThreshold, type MavVectors } from '../../../core/measure/analysis/analysis.js';
import { columnsOf } from '../../../core/measure/analysis/columns.js';
import type { Overlap } from '../../../core/measure/analysis/overlap.js';
import { sharesOf } from '../../../core/measure/analysis/shares.js';
import { readVectors } from '../../../core/measure/analysis/vectors-file.js';
import { paperCounts } from '../../../core/methods/framework/counts.js';
import type { JsonFault } from '../../../core/models/checkpoint/files/json-file.js';
import type { PageAnalysis, PageExpert } from '../components/data/data.js';
import { advice } from './advice.js';
import { finiteRows, type PublishedTable, shortName } from './analysis-table.js';
import { countsAt, stopsOf } from './mav-counts.js';
import { type ProposedSwap, proposedSwaps } from './proposed-swaps.js';

export const stopsPerDecade = { analysis: 40, report: 12 } as const;

const labelOf = (module: string): string =>
  module
    .replace(/\.weight$/, '')
    .split('.')
    .slice(-1)
    .join('');

const expertOf = (
  mav: MavVectors,
  threshold: number,
  stops: readonly number[],
  bottom: number,
  top: number,
): PageExpert => {
  const columns = columnsOf(mav.tensors, mav.layers);
  const { meanMav, inverseMav } = analyseAt(mav, threshold);
  const shares = sharesOf(mav, bottom, top);
  return {
    name: mav.name,
    analysed: stops.indexOf(threshold),
    meanMav,
    inverseMav,
    shares: [shares.bottom, shares.middle, shares.top, shares.outside],
    columns: columns.map(({ name, label, layers }) => {
      const tensors = layers.flat();
      const modules = new Set(
        tensors.map((tensor) => propertyAt(mav.tensors, tensor).module.replaceAll(/\.\d+\./g, '.*.')),
      );
      const [module = name] = modules;
      return {
        label: modules.size === 1 ? labelOf(module) : label,
        title: module.replace(/\.weight$/, ''),
        published: name,
      };
    }),
    cells: Array.from({ length: mav.layers }, (_, layer) =>
      columns.map(({ layers }) => {
        const names = itemAt(layers, layer);
        const rows = finiteRows(mav, names);
        return rows === 0
          ? null
          : {
              rows,
              above: countsAt(
                names.map((name) => valueAt(mav.vectors, name)),
                stops,
              ),
            };
      }),
    ),
  };
};

interface AnalysisParts {
  readonly bottom: number;
  readonly top: number;
  readonly thresholds: readonly number[];
  readonly perDecade: number;
  readonly published?: readonly PublishedTable[];
  readonly topOverlaps?: readonly TopOverlap[];
  readonly proposals?: readonly ProposedSwap[];
  readonly roles?: ExpertRoles;
}

export const analysisOf = (
  experts: readonly MavVectors[],
  overlaps: readonly Overlap[],
  {
    bottom,
    top,
    thresholds,
    perDecade,
    published = [],
    topOverlaps = [],
    proposals = [],
    roles = new Map(),
  }: AnalysisParts,
): PageAnalysis => {
  const first = itemAt(experts, 0);
  const opening = autoThreshold(experts) ?? itemAt(thresholds, 0);
  const stops = stopsOf(experts, thresholds, perDecade);
  const nearest = stops.reduce(
    (best, stop, index) =>
      Math.abs(Math.log(stop / opening)) < Math.abs(Math.log(itemAt(stops, best) / opening)) ? index : best,
    0,
  );
  const shares = experts.map((mav) => ({ name: mav.name, ...sharesOf(mav, bottom, top) }));
  return {
    base: first.base.name,
    rows: first.rows,
    bottom,
    top,
    stops,
    opening: nearest,
    overlaps,
    topOverlaps,
    proposals: proposals.map(
      ({ task, language, bottom, top, bottomRange, topRange, kept, command, warnings }) => ({
        ...{ task, language, bottom, top, bottomRange, topRange, kept, command, warnings },
      }),
    ),
    roles: Object.fromEntries(roles),
    published: published.map(({ name, columns, cells }) => ({
      name,
      columns: columns.map(shortName),
      cells: cells.map((row) => row.map((value) => value ?? null)),
    })),
    experts: experts.map((mav, index) => expertOf(mav, itemAt(thresholds, index), stops, bottom, top)),
    advice: advice({ shares, overlaps, roles }, bottom, top),
  };
};

const vectorsEnding = /\.mav\.safetensors$/;

const damaged = ({ file, reason, cause, isRead }: JsonFault): LayerloomError =>
  isRead ? new LayerloomError('CONFIG_INVALID', { file, reason }, { cause }) : readFailed(file, cause);

/**
 * Reads the files of `layerloom analyze` in a directory; null if it has none.
 *
 * @param roles by expert; names without an expert are ignored
 * @throws as `readVectors`, READ_FAILED, and CONFIG_INVALID for its other files
 */
export const readAnalysis = async (directory: string, roles: ExpertRoles): Promise<PageAnalysis | null> => {
  const names = await namesIn(directory);
  const files = names.filter((name) => vectorsEnding.test(name)).sort();
  const experts: MavVectors[] = [];
  const thresholds: number[] = [];
  for (const file of files) {
    experts.push(await readVectors(join(directory, file)));
    const analysis = file.replace(vectorsEnding, '.json');
    // If only the vectors were copied, uses the default threshold.
    thresholds.push(
      names.includes(analysis)
        ? (await readThreshold(join(directory, analysis), damaged)).threshold
        : defaultThreshold,
    );
  }
  if (experts.length === 0) return null;
  const overlaps = names.includes(overlapsName) ? await readOverlaps(directory, damaged) : [];
  const topOverlaps = names.includes(topOverlapsName) ? await readTopOverlaps(directory, damaged) : [];
  return analysisOf(experts, overlaps, {
    ...paperCounts,
    thresholds,
    perDecade: stopsPerDecade.report,
    topOverlaps,
    proposals: proposedSwaps(experts, roles),
    roles,
  });
};
