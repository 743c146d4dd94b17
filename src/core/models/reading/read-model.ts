import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { allInOrder } from '../../base/all-in-order.js';
import { argument, layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError } from '../../base/errors/errors.js';
import { namesIn } from '../../base/files/unless-missing.js';
import type { Adapter } from '../adapters/adapter.js';
import { applyAdapter } from '../adapters/apply.js';
import { type ModelAddress, parseAddress, printAddress } from '../address/address.js';
import type { FoundModel } from '../address/found-model.js';
import { adaptersIn, namesOfAdapters } from '../address/named-adapters.js';
import type { CheckpointIndex } from '../checkpoint/checkpoint.js';
import { findWeights } from '../checkpoint/containers/containers.js';
import { adapterConfigName, adapterWeightsNames } from '../checkpoint/files/file-names.js';
import { readSideFile } from '../checkpoint/files/small-file.js';
import { findModelFiles, hasModel } from '../checkpoint/find-files.js';
import { openFound } from '../checkpoint/open.js';
import { separated } from '../experts/separated.js';
import { dequantised } from '../quantisation/dequantised.js';
import { locate, locateIfHere } from '../sources/locate.js';
import { missingRanges } from '../sources/ranges/folder/folder.js';
import { adapterAt } from './adapter-at.js';
import { checkFit, type GivenConfig, otherModules, withConfig } from './given-config.js';
import { known } from './known.js';
import { layerCountWarnings } from './layer-count.js';
import { mergedState } from './peft-state.js';
import { settledTies } from './settled-ties.js';
import { splitExpertWarnings } from './split-experts.js';
import { withoutWrappers } from './wrappers.js';

/** A whole model, or a bare adapter, whose files are in `checkpoint`. */
export interface Reading {
  readonly checkpoint: CheckpointIndex;
  readonly adapter?: Adapter;
}

/**
 * Reads the model at an address: a whole model, as transformers and PEFT would load it, or an adapter. A base
 * with an adapter is one checkpoint, named like the adapter. Reads headers and small files, and weights only to decide
 * whether the head equals the embeddings.
 *
 * All commands open models through this function, so that a path means the same model everywhere.
 *
 * @param config for a whole model without `config.json`
 * @throws MODEL_NOT_FOUND, MODEL_AMBIGUOUS and errors of reading the files
 */
export const readModel = async (model: ModelAddress, config?: GivenConfig): Promise<Reading> => {
  if (model.kind === 'adapted') return { checkpoint: await readAdapted(model, config) };
  const found = await locate(model);
  if ((await kindAt(found)) !== 'adapter') return { checkpoint: await wholeAt(found, config) };
  const adapter = await adapterAt(found, known);
  return { checkpoint: adapter.checkpoint, adapter };
};

/**
 * `readModel` for a whole model.
 *
 * @throws as `readModel`; ADAPTER_WITHOUT_BASE for a bare adapter
 */
export const readWhole = async (model: ModelAddress, config?: GivenConfig): Promise<CheckpointIndex> => {
  if (model.kind === 'adapted') return await readAdapted(model, config);
  const found = await locate(model);
  if ((await kindAt(found)) === 'adapter')
    throw new LayerloomError('ADAPTER_WITHOUT_BASE', { adapter: found.path });
  return await wholeAt(found, config);
};

/** `readWhole` for text: a path, `org/name[@revision]` or `BASE+ADAPTER`, optionally with `NAME=`. */
export const openModel = async (model: string): Promise<CheckpointIndex> =>
  readWhole(await parseAddress(model));

/** `readModel` for an adapter, even in a directory that also has a whole model. */
export const readAdapter = async (model: ModelAddress): Promise<Adapter> =>
  adapterAt(await locate(model), known);

/**
 * True if a model on this machine is a bare adapter.
 *
 * @throws READ_FAILED, MODEL_AMBIGUOUS
 */
export const isBareAdapter = async (model: ModelAddress): Promise<boolean> => {
  const found = await locateIfHere(model);
  return found !== undefined && (await kindAt(found)) === 'adapter';
};

const readAdapted = async (
  model: ModelAddress & { kind: 'adapted' },
  given?: GivenConfig,
): Promise<CheckpointIndex> => {
  const { name, base, adapter } = model;
  if (base.kind === 'adapted' || adapter.kind === 'adapted') {
    const first: ModelAddress =
      adapter.kind === 'adapted' ? { kind: 'adapted', base, adapter: adapter.base } : base;
    const text = printAddress(first);
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: printAddress(model),
      what: 'several adapters on one base',
      reason: 'are not added at once',
      remedy: `write ${text} first (${layerloomCommand('relayout', argument(text), '-o', 'DIR')}), and add the other to that`,
    });
  }
  const [opened, added] = await allInOrder([readWhole(base, given), readAdapter(adapter)]);
  const { path, folder = path } = added.checkpoint;
  const config = await readSideFile(join(folder, adapterConfigName));
  const applied = applyAdapter(
    separated(dequantised(opened)),
    added,
    createHash('sha256').update(config).digest('hex'),
  );
  return name === undefined ? applied : { ...applied, name };
};

/**
 * Decides from file names whether a path is a model or an adapter. Refuses a directory with both: loaders
 * disagree on which to use, and on which base.
 */
const kindAt = async ({ path }: FoundModel): Promise<'model' | 'adapter'> => {
  if (!(await stat(path)).isDirectory())
    return adapterWeightsNames.includes(basename(path)) ? 'adapter' : 'model';
  const names = await namesIn(path);
  if (!names.includes(adapterConfigName)) return 'model';
  const adapter = adapterWeightsNames.find((name) => names.includes(name));
  if (!(await hasModel(path, names)))
    return adapter === undefined && findWeights(names) !== undefined ? 'model' : 'adapter';
  if (adapter === undefined) return 'model';
  throw new LayerloomError('MODEL_AMBIGUOUS', {
    path,
    model: await modelFileAt(path),
    adapter: join(path, adapter),
  });
};

const modelFileAt = async (directory: string): Promise<string> => {
  const { index, weights } = await findModelFiles(directory);
  return index?.path ?? String(weights[0]);
};

const wholeAt = async (found: FoundModel, config: GivenConfig | undefined): Promise<CheckpointIndex> => {
  const { path } = found;
  const isDirectory = (await stat(path)).isDirectory();
  const names = await namesIn(isDirectory ? path : dirname(path));
  const own = await openFound(found, known).catch(async (error: unknown) => {
    throw isDirectory ? await withAdapters(error, path) : error;
  });
  const opened = config === undefined ? own : withConfig(own, config);
  const settle = async (checkpoint: CheckpointIndex) => {
    const tied = await settledTies(checkpoint, missingRanges);
    const found = [...splitExpertWarnings(tied), ...layerCountWarnings(tied)];
    const settled = found.length === 0 ? tied : { ...tied, warnings: [...tied.warnings, ...found] };
    if (opened === own || config === undefined) return settled;
    checkFit(settled, config);
    return { ...settled, warnings: [...settled.warnings, ...otherModules(settled, config)] };
  };
  const state = await mergedState(withoutWrappers(opened), names, settle);
  if (state !== undefined) return state;
  if (isDirectory && names.includes(adapterConfigName) && (await hasModel(path, names)))
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: `has ${adapterConfigName} beside a whole model and no weights of an adapter, and transformers does not load it; give ${await modelFileAt(path)} for the model alone, or download the adapter again`,
    });
  return await settle(withoutWrappers(opened));
};

const withAdapters = async (error: unknown, directory: string): Promise<unknown> => {
  if (!(error instanceof LayerloomError) || error.code !== 'NOT_A_CHECKPOINT') return error;
  const names = await adaptersIn(directory);
  if (names.length === 0) return error;
  const reason = `holds no weights of a model, and ${namesOfAdapters(directory, names)}`;
  return new LayerloomError('NOT_A_CHECKPOINT', { path: directory, reason }, { cause: error });
};
