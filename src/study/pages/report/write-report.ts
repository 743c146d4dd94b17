import { stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { writing } from '../../../core/base/files/writing.js';
import { makeDirectories, writeWhole } from '../../../core/engine/output/durable.js';
import type { ExpertRoles } from '../../../core/measure/analysis/advice/expert-roles.js';
import { layerCount } from '../../../core/models/architecture/layer-numbers.js';
import { provenanceName } from '../../../core/models/checkpoint/files/file-names.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone, ownFile } from '../../../core/texts/json.js';
import { readRecord } from '../../experiment/record/experiment-record.js';
import { Board } from '../../scores/boards/board.js';
import type { ScoreTable } from '../../scores/reading/score-table.js';
import type { ScoredExperiment } from '../../scores/reading/scored-experiment.js';
import { type Layouts, tablesOn } from '../../scores/tables.js';
import { readAnalysis } from '../analysis/analysis-data.js';
import type { ReportData } from '../components/data/data.js';
import { ReportPage } from '../components/report-page.js';
import { generatorMeta, htmlPage } from '../html-page.js';
import { csvScores, csvScoresStart } from '../score-table/csv.js';
import { pictureTables } from './picture-tables.js';
import { reportData } from './report-data.js';
import type { ReportSections } from './report-sections.js';

export const drawReport = (data: ReportData): Promise<string> =>
  htmlPage(ReportPage, { title: data.title, data, script: 'report' });

/**
 * Writes a page, picture or table to a temporary file and renames it. Without `force`, it replaces only pages
 * and CSV tables that layerloom wrote; pictures do not record their writer.
 *
 * @throws OUTPUT_EXISTS, WRITE_FAILED
 */
export const writePage = async (out: string, text: string, force: boolean): Promise<void> => {
  const path = resolve(out);
  if ((await stat(path).catch(() => undefined))?.isDirectory())
    throw new LayerloomError('OUTPUT_EXISTS', {
      out: path,
      reason: 'is a directory',
      remedy: `name a file in it, such as ${join(out, 'report.html')}`,
    });
  const former = await readSmallFile(path).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ENOENT' ? undefined : Buffer.alloc(0),
  );
  if (former !== undefined && !force && !isOurs(former))
    throw new LayerloomError('OUTPUT_EXISTS', {
      out: path,
      reason: extname(path) === '.html' ? 'is not a page that layerloom wrote' : 'exists',
      remedy: `choose another file, or ${optionName('force')} to replace it`,
    });
  await writing(path, async () => {
    await makeDirectories(dirname(path));
    await writeWhole(path, text);
  });
};

const isOurs = (former: Buffer): boolean =>
  former.subarray(0, 2000).includes(generatorMeta) ||
  former.subarray(0, csvScoresStart.length).toString() === csvScoresStart;

/** Reads the number of layers from the first existing merge; all merges have the same. */
export const layersOf = async (directory: string, paths: readonly string[]): Promise<number | undefined> => {
  for (const path of paths) {
    const text = await readSmallFile(join(resolve(directory, path), provenanceName)).catch(() => undefined);
    if (text === undefined) continue;
    const provenance = jsonOrNone(text, ownFile);
    const architecture = isObject(provenance) ? provenance['architecture'] : undefined;
    const layers = layerCount.safeParse(isObject(architecture) ? architecture['layers'] : undefined).data;
    if (layers !== undefined) return layers;
  }
  return undefined;
};

/** Options of a report. */
export interface ReportOptions {
  out: string;
  /** CSV file for the numbers in tables and pictures. */
  csv?: string | undefined;
  /** Problems of each task whose texts the page contains; default 50. */
  samples?: number | undefined;
  /** Directory of `layerloom analyze`; default: `analysis` in the experiment's directory, if it exists. */
  analysis?: string | undefined;
  /** Replace a file that is not a page of layerloom; default false. */
  force?: boolean | undefined;
}

/** Report's file and counts of its contents. */
export interface WrittenReport {
  readonly out: string;
  readonly bytes: number;
  readonly merges: number;
  readonly results: number;
  readonly tables: number;
  readonly csv: string | null;
  /** Figures in pictures that are in no table of `scoreTables`. */
  readonly pictures: readonly ScoreTable[];
  readonly warnings: readonly string[];
}

/**
 * Writes an experiment's report as one HTML file.
 *
 * @throws INVALID_PARAMETER, OUTPUT_EXISTS, READ_FAILED, WRITE_FAILED, and errors of reading the analysis
 */
export const writeReportOf = async (
  experiment: ScoredExperiment,
  layouts: Layouts,
  { out, csv, samples = 50, analysis, force = false }: ReportOptions,
): Promise<WrittenReport> => {
  if (csv !== undefined && resolve(csv) === resolve(out))
    throw invalidParameter('csv', csv, 'another file than the page');
  if (!Number.isInteger(samples) || samples < 0)
    throw invalidParameter('samples', samples, 'a whole number of problems, 0 or more');
  const { directory } = experiment;
  const record = directory === null ? null : await readRecord(directory);
  const own = directory === null ? undefined : join(directory, 'analysis');
  const read = analysis ?? own;
  const found = read === undefined ? null : await readAnalysis(read, rolesIn(experiment));
  if (found === null && analysis !== undefined)
    throw new LayerloomError('READ_FAILED', {
      file: analysis,
      reason: `it contains no files NAME.mav.safetensors; \`${layerloomCommand('analyze')}\` writes them`,
    });
  const paths = experiment.models.flatMap(({ role, path }) =>
    role === 'merge' && path !== null ? [path] : [],
  );
  const board = new Board(experiment);
  const tables = tablesOn(board, layouts);
  const parts: ReportSections = {
    board,
    record,
    tables,
    analysis: found,
    layers:
      directory === null
        ? undefined
        : ((await layersOf(directory, paths)) ?? found?.experts[0]?.cells.length),
    samples,
    title: directory === null ? 'Scores' : basename(directory),
    written: new Date().toISOString(),
  };
  const data = reportData(parts);
  const text = await drawReport(data);
  const pictures = pictureTables(data);
  await writePage(out, text, force);
  if (csv !== undefined) await writePage(csv, `${csvScores([...tables, ...pictures])}\n`, force);
  return {
    out: resolve(out),
    bytes: Buffer.byteLength(text),
    merges: data.models.filter(({ role }) => role === 'merge').length,
    results: data.models.reduce((total, { results }) => total + results.length, 0),
    tables: data.tables.length,
    csv: csv === undefined ? null : resolve(csv),
    pictures,
    warnings: experiment.warnings,
  };
};

export const rolesIn = ({ models }: ScoredExperiment): ExpertRoles =>
  new Map(models.flatMap(({ name, role }) => (role === 'task' || role === 'language' ? [[name, role]] : [])));
