import { dirname, join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { namesIn } from '../../base/files/unless-missing.js';
import type { Adapter } from '../adapters/adapter.js';
import { parseAdapterConfig } from '../adapters/peft-config.js';
import { readAdapterTensors } from '../adapters/read-tensors.js';
import { type FoundModel, originOf } from '../address/found-model.js';
import { adaptersIn, namesOfAdapters } from '../address/named-adapters.js';
import {
  adapterConfigName,
  adapterWeightsName,
  adapterWeightsNames,
} from '../checkpoint/files/file-names.js';
import { readSideFile } from '../checkpoint/files/small-file.js';
import { type KnownOfFiles, openFound } from '../checkpoint/open.js';
import { listSideFiles } from '../checkpoint/side-files.js';
import { renamed } from './renamed.js';
import { plainAdapterName } from './wrappers.js';

/** The weights of towers that ms-swift trains whole (`lora_llm`). PEFT would leave them out. */
const towersName = 'vit.safetensors';

/**
 * Reads a PEFT adapter's configuration and header, no weights, from a directory or a weight file. Parameters
 * have PEFT's names without its prefix.
 *
 * @throws NOT_A_CHECKPOINT, ADAPTER_INVALID, ADAPTER_UNSUPPORTED, CONFIG_INVALID, READ_FAILED and errors of
 *   its container
 */
export const adapterAt = async (found: FoundModel, known: KnownOfFiles): Promise<Adapter> => {
  const { name, path } = found;
  const isFile = adapterWeightsNames.some((weights) => path.endsWith(`/${weights}`));
  const folder = isFile ? dirname(path) : path;
  const names = await namesIn(folder);
  const adapters = isFile ? [] : await adaptersIn(folder);
  if (!names.includes(adapterConfigName))
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: `is no adapter: it has no ${adapterConfigName}${adapters.length === 0 ? '; give the directory that PEFT wrote' : `, and holds ${namesOfAdapters(path, adapters)}`}`,
    });
  if (names.includes(towersName))
    throw new LayerloomError('ADAPTER_UNSUPPORTED', {
      file: join(folder, towersName),
      what: 'a file of towers that ms-swift trained whole beside an adapter',
      reason: 'is not read',
      remedy: 'merge both by swift export with merge_lora, and give its output',
    });
  const configFile = join(folder, adapterConfigName);
  const config = parseAdapterConfig((await readSideFile(configFile)).toString(), configFile);
  const there = adapterWeightsNames.find((weights) => names.includes(weights));
  if (there === undefined)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path,
      reason: `has ${adapterConfigName} and no ${adapterWeightsName}; download or copy the adapter again`,
    });
  const file = isFile ? path : join(folder, there);
  const opened = renamed(await openFound({ name, path: file }, known), plainAdapterName);
  const { files, metadata, tensors } = opened;
  const checkpoint = {
    name,
    path,
    ...(isFile ? { folder } : {}),
    ...originOf(found),
    files,
    metadata,
    tensors,
    config: config.raw,
    sideFiles: await listSideFiles(folder),
    warnings:
      adapters.length > 1 ? [`${path} is its adapter default, of ${namesOfAdapters(path, adapters)}`] : [],
  };
  return { checkpoint, config, ...readAdapterTensors(tensors, config, file) };
};
