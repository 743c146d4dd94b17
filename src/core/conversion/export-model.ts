import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { invalidParameter } from '../base/errors/invalid-parameter.js';
import { version } from '../base/files/version.js';
import { writeDurably } from '../engine/output/durable.js';
import { checkOutput, type Output } from '../engine/output/output.js';
import { openStaging } from '../engine/output/staging.js';
import type { Progress } from '../engine/run.js';
import type { CheckpointIndex } from '../models/checkpoint/checkpoint.js';
import { checkSpace } from '../models/checkpoint/files/disk-space.js';
import { statementName } from '../models/checkpoint/files/file-names.js';
import { sideFileObject } from '../models/checkpoint/side-file-content.js';
import { openWhole } from '../models/reading/open-whole.js';
import { readStatement } from '../statements/statement.js';
import { elementsOf } from '../tensor/reference.js';
import { exportFormats } from './formats.js';
import { bytesPerElement, type GgufType, ggufTypes, isConvertedType } from './gguf-types.js';
import { modelfile } from './modelfile.js';
import { findConverter, findQuantizer, type Program, type ProgramPlaces } from './programs.js';
import { between, type RanProgram, stateExport } from './state-export.js';
import { checkQuantizer, convert, type LoadedOnce, loadOnce, quantize, type StepContext } from './steps.js';

/** Options of `exportModel`. */
export interface ModelExportOptions extends ProgramPlaces {
  to: (typeof exportFormats)[number];
  /** Type of the weights, such as `bf16`, `q8_0` or `q4_k_m`. */
  type: GgufType;
  /** Directory to create; default: `DIR-gguf-TYPE` beside the checkpoint. */
  out?: string | undefined;
  /** Write an in-toto statement of the export. By default, if the checkpoint has a statement. */
  attest?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Called about once a second while programs report progress. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** An exported model, and its test in llama.cpp. */
export interface ExportedModel {
  readonly out: string;
  /** Path of the GGUF file in `out`. */
  readonly file: string;
  readonly type: GgufType;
  readonly bytes: number;
  /** The result of loading the file in llama.cpp; null if none of its programs was found. */
  readonly loaded: LoadedOnce | null;
  /** Path of the statement in `out`, if written. */
  readonly statement: string | null;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

/**
 * Exports a checkpoint to GGUF with llama.cpp's converter and llama-quantize, loads the file once in
 * llama.cpp, and writes an Ollama Modelfile. The output appears whole or not at all.
 * @throws INVALID_PARAMETER, PROGRAM_MISSING, EXPORT_FAILED, NOT_A_CHECKPOINT and the codes of opening, an
 * OUTPUT_… code, DISK_SPACE, WRITE_FAILED, INTERRUPTED
 */
export const exportModel = async (
  directory: string,
  { to, type, out, attest, signal, onProgress, ...places }: ModelExportOptions,
): Promise<ExportedModel> => {
  const started = performance.now();
  if (!exportFormats.includes(to)) throw invalidParameter('to', to ?? null, exportFormats.join(', '));
  if (!ggufTypes.includes(type)) throw invalidParameter('type', type ?? null, ggufTypes.join(', '));
  const checkpoint = await openWhole(directory, 'export');
  const output = await checkTarget(checkpoint, out ?? `${resolve(directory)}-gguf-${type}`);
  const converter = await findConverter(places);
  const quantizer = isConvertedType(type) ? undefined : await findQuantizer(places, type);
  const log = join(await mkdtemp(join(tmpdir(), 'layerloom-export-')), 'log');
  const staging = await openStaging(output, stagedPlan(checkpoint, type), false);
  const context: StepContext = { model: checkpoint.path, log, directory: staging.directory, signal };
  const file = `${basename(checkpoint.path).replace(/[^\w.-]+/g, '-')}-${type.toUpperCase()}.gguf`;
  const weights = join(staging.checkpoint, file);
  try {
    if (quantizer !== undefined) await checkQuantizer(quantizer, type, context);
    await checkSpace(dirname(output.path), output.path, mostBytes(checkpoint, type));
    const programs = await writeWeights(
      checkpoint,
      weights,
      { type, converter, quantizer },
      context,
      onProgress,
    );
    const loaded = (await loadOnce(weights, places, context)) ?? null;
    const generation = await sideFileObject(checkpoint, 'generation_config.json');
    await writeDurably(join(staging.checkpoint, 'Modelfile'), modelfile(file, generation));
    const bytes = await madeDurable(weights);
    const isStated = attest ?? (await readStatement(checkpoint.path)).state !== 'absent';
    if (isStated) await stateExport(checkpoint, { type, file, programs }, staging.checkpoint, signal);
    const warnings = await staging.commit();
    await rm(dirname(log), { recursive: true, force: true });
    const seconds = (performance.now() - started) / 1000;
    const silent =
      loaded?.generated === false ? [`${loaded.program} loaded ${file}, and generated nothing`] : [];
    const all = [...checkpoint.warnings, ...staging.warnings, ...warnings, ...silent];
    return {
      out: output.path,
      file,
      type,
      bytes,
      loaded,
      statement: isStated ? statementName : null,
      seconds,
      warnings: all,
    };
  } catch (error) {
    await staging.discard();
    // Keeps the log if the error names it.
    if (!(error instanceof LayerloomError && error.code === 'EXPORT_FAILED'))
      await rm(dirname(log), { recursive: true, force: true });
    throw error;
  }
};

/** @throws an OUTPUT_… code: an existing output is never replaced */
const checkTarget = async (checkpoint: CheckpointIndex, out: string): Promise<Output> => {
  if (/\.gguf$/i.test(out))
    throw new LayerloomError('OUTPUT_INVALID', {
      out,
      reason: 'is named like a file; name a directory, in which the GGUF file and its Modelfile are written',
    });
  try {
    return await checkOutput({ inputs: [{ role: 'model', ...checkpoint }] }, out, false);
  } catch (error) {
    if (!(error instanceof LayerloomError) || error.code !== 'OUTPUT_EXISTS') throw error;
    const details = { out, reason: 'is not empty', remedy: 'choose another output' };
    throw new LayerloomError('OUTPUT_EXISTS', details, { cause: error });
  }
};

const stagedPlan = (checkpoint: CheckpointIndex, type: GgufType): Parameters<typeof openStaging>[1] => {
  const { name, path, files } = checkpoint;
  const inputs = [{ role: 'model', name, path, files }];
  return {
    ...{ layerloom: version, method: 'export', recipe: { model: path, to: 'gguf', type } },
    ...{ inputs, shards: [], files: [] },
  };
};

const bytesIn = (checkpoint: CheckpointIndex, type: GgufType): number =>
  Math.ceil(elementsIn(checkpoint) * bytesPerElement(type));

const elementsIn = ({ tensors }: CheckpointIndex): number =>
  [...tensors.values()].reduce((sum, { shape }) => sum + elementsOf(shape), 0);

const mostBytes = (checkpoint: CheckpointIndex, type: GgufType): number =>
  (isConvertedType(type) ? 0 : bytesIn(checkpoint, between(checkpoint))) + bytesIn(checkpoint, type);

interface Making {
  readonly type: GgufType;
  readonly converter: Program;
  readonly quantizer: Program | undefined;
}

/**
 * Converts the checkpoint; for llama-quantize's types, in two steps.
 *
 * @returns the programs that ran, in order
 */
const writeWeights = async (
  checkpoint: CheckpointIndex,
  weights: string,
  { type, converter, quantizer }: Making,
  context: StepContext,
  onProgress: ((progress: Progress) => void) | undefined,
): Promise<readonly RanProgram[]> => {
  const report = (phase: Progress['phase']) => (done: number, total: number) =>
    onProgress?.({ phase, done, total });
  const given = { path: checkpoint.path, elements: elementsIn(checkpoint) };
  const [converted, quantised] = [report('conversion'), report('quantisation')];
  converted(0, bytesIn(checkpoint, isConvertedType(type) ? type : between(checkpoint)));
  if (isConvertedType(type)) {
    await convert(converter, { ...given, to: weights, type }, context, converted);
    return [{ program: converter }];
  }
  if (quantizer === undefined) throw new RangeError(`nothing writes ${type}`);
  const first = between(checkpoint);
  const from = join(context.directory, `${first}.gguf`);
  const made = await convert(converter, { ...given, to: from, type: first }, context, converted);
  const version = await quantize(quantizer, { from, to: weights, type, made }, context, quantised);
  await rm(from);
  return [{ program: converter }, { program: quantizer, version }];
};

/** @returns the file's size in bytes */
const madeDurable = async (path: string): Promise<number> => {
  const file = await open(path, 'r+');
  try {
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
};
