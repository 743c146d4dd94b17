import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { analyseAt, defaultThreshold, type MavVectors } from '../analysis/analysis.js';
import { autoThreshold } from '../analysis/auto-threshold.js';
import { columnsOf } from '../analysis/columns.js';
import type { Overlap } from '../analysis/overlap.js';
import { sharesOf } from '../analysis/shares.js';
import { readVectors } from '../analysis/vectors-file.js';
import { readSmallFile } from '../checkpoint/small-file.js';
import { itemAt, propertyAt, valueAt } from '../lookup.js';
import { advice } from './advice.js';
import { finiteRows, type PublishedTable, shortName } from './analysis-table.js';
import { countsAt, stopsOf } from './mav-counts.js';
import type { PageAnalysis, PageExpert } from './pages/data.js';

/** Slider positions per power of ten, in the page of an analysis and in a report. */
export const stopsPerDecade = { analysis: 40, report: 12 } as const;

/** `self_attn.q_proj.weight` → `q_proj`; names as the model has them. */
const labelOf = (module: string): string =>
  module
    .replace(/\.weight$/, '')
    .split('.')
    .slice(-1)
    .join('');

const expertOf = (mav: MavVectors, stops: readonly number[], bottom: number, top: number): PageExpert => {
  const columns = columnsOf(mav.tensors, mav.layers);
  const { meanMav, inverseMav } = analyseAt(mav, defaultThreshold);
  const shares = sharesOf(mav, bottom, top);
  return {
    name: mav.name,
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

/** Makes the data of an analysis's part of a page. */
export const analysisOf = (
  experts: readonly MavVectors[],
  overlaps: readonly Overlap[],
  {
    bottom,
    top,
    threshold,
    perDecade,
    published = [],
  }: {
    readonly bottom: number;
    readonly top: number;
    readonly threshold: number;
    readonly perDecade: number;
    readonly published?: readonly PublishedTable[];
  },
): PageAnalysis => {
  const first = itemAt(experts, 0);
  const opening = autoThreshold(experts) ?? threshold;
  const stops = stopsOf(experts, threshold, perDecade);
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
    analysed: stops.indexOf(threshold),
    overlaps,
    published: published.map(({ name, columns, cells }) => ({
      name,
      columns: columns.map(shortName),
      cells: cells.map((row) => row.map((value) => value ?? null)),
    })),
    experts: experts.map((mav) => expertOf(mav, stops, bottom, top)),
    advice: advice({ shares, overlaps }, bottom, top),
  };
};

/**
 * Reads what `layerloom analyze` wrote to a directory; null if there is none.
 *
 * @throws LayerloomError the codes of `readVectors`
 */
export const readAnalysis = async (directory: string): Promise<PageAnalysis | null> => {
  const names = await readdir(directory).catch((): string[] => []);
  const files = names.filter((name) => name.endsWith('.mav.safetensors')).sort();
  const experts: MavVectors[] = [];
  for (const file of files) experts.push(await readVectors(join(directory, file)));
  if (experts.length === 0) return null;
  const overlaps = names.includes('overlap.json')
    ? (JSON.parse((await readSmallFile(join(directory, 'overlap.json'))).toString()) as Overlap[])
    : [];
  return analysisOf(experts, overlaps, {
    bottom: 5,
    top: 2,
    threshold: defaultThreshold,
    perDecade: stopsPerDecade.report,
  });
};
