import { join } from 'node:path';
import type { ModelAddress } from '../../address/address.js';
import { originOf } from '../../address/found-model.js';
import { LayerloomError } from '../../base/errors.js';
import { namesIn } from '../../base/unless-missing.js';
import { findWeights } from '../../checkpoint/containers/containers.js';
import { openFound } from '../../checkpoint/open.js';
import { listSideFiles } from '../../checkpoint/side-files.js';
import { readSideFile } from '../../checkpoint/small-file.js';
import { locate, locateIfHere } from '../../sources/locate.js';
import { knownOfFiles } from '../../sources/open-checkpoint.js';
import type { Adapter } from './adapter.js';
import {
  adapterConfigName,
  adapterPickleName,
  adapterWeightsName,
  parseAdapterConfig,
} from './peft-config.js';
import { readAdapterTensors } from './read-tensors.js';

/**
 * True if a directory is an adapter of PEFT and not a whole model.
 *
 * @param names of its files
 */
export const isAdapter = (names: readonly string[]): boolean =>
  names.includes(adapterConfigName) && findWeights(names) === undefined;

/** True if a model is found here and is an adapter without a base. @throws LayerloomError READ_FAILED */
export const isBareAdapter = async (model: ModelAddress): Promise<boolean> => {
  const found = await locateIfHere(model);
  return found !== undefined && isAdapter(await namesIn(found.path));
};

/**
 * Opens a LoRA adapter of PEFT for reading: a directory with `adapter_config.json` and `adapter_model.safetensors`.
 * Configuration and header are read; weights are not. Parameters have the names that PEFT gives them, without its prefix.
 *
 * @throws LayerloomError MODEL_NOT_FOUND, NOT_A_CHECKPOINT, ADAPTER_INVALID, ADAPTER_UNSUPPORTED, CONFIG_INVALID,
 *   READ_FAILED and the codes of safetensors files
 */
export const openAdapter = async (model: ModelAddress): Promise<Adapter> => {
  const found = await locate(model);
  const { name, path } = found;
  const names = await namesIn(path);
  if (!names.includes(adapterConfigName))
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: `is no adapter: it has no ${adapterConfigName}; give the directory that PEFT wrote`,
    });
  const configFile = join(path, adapterConfigName);
  const config = parseAdapterConfig((await readSideFile(configFile)).toString(), configFile);
  if (!names.includes(adapterWeightsName))
    throw names.includes(adapterPickleName)
      ? new LayerloomError('ADAPTER_UNSUPPORTED', {
          file: join(path, adapterPickleName),
          what: 'it',
          reason: 'is pickled, and may run code when it is read',
          remedy: 'save it again with PEFT (save_pretrained), which writes safetensors',
        })
      : new LayerloomError('NOT_A_CHECKPOINT', {
          path,
          reason: `has ${adapterConfigName} and no ${adapterWeightsName}; download or copy the adapter again`,
        });
  const { files, metadata, tensors } = await openFound(
    { name, path: join(path, adapterWeightsName) },
    knownOfFiles,
  );
  const checkpoint = {
    name,
    path,
    ...originOf(found),
    files,
    metadata,
    tensors,
    config: config.raw,
    sideFiles: await listSideFiles(path),
    warnings: [],
  };
  return { checkpoint, config, ...readAdapterTensors(tensors, config, join(path, adapterWeightsName)) };
};
