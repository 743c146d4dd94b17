import { resolve } from 'node:path';
import { LayerloomError } from '../../base/errors.js';
import { type ModelAddress, parseAddress, printAddress } from '../address/address.js';
import type { FoundModel } from '../address/found-model.js';
import { localFiles } from './local-files.js';
import { remoteSources } from './sources.js';

/**
 * Finds a model: a path, or what a source has of it on this machine. Asks no network. A path that exists goes before what a
 * source names, and `NAME=` before either gives it a name of its own.
 *
 * @throws LayerloomError MODEL_NOT_FOUND, which says what was tried; for a base with an adapter, which is no one model;
 *   READ_FAILED
 */
export const locate = async (model: ModelAddress): Promise<FoundModel> => {
  if (model.kind === 'adapted') {
    const text = printAddress(model);
    throw new LayerloomError('MODEL_NOT_FOUND', { model: text, tried: [resolve(text)] });
  }
  const { name, at } = model;
  const tried: string[] = [];
  for (const source of [localFiles, ...remoteSources]) {
    const found = await source.find(at);
    if (found === undefined) continue;
    if ('path' in found) return name === undefined ? found : { ...found, name };
    tried.push(found.tried);
  }
  const fetch = remoteSources.find((source) => source.names(at))?.fetchCommand?.(at);
  throw new LayerloomError('MODEL_NOT_FOUND', {
    model: at,
    tried,
    ...(fetch === undefined ? {} : { fetch }),
  });
};

/** Finds a model; undefined where it is not here. @throws LayerloomError READ_FAILED */
export const locateIfHere = (model: ModelAddress): Promise<FoundModel | undefined> =>
  locate(model).catch((error: unknown) => {
    if (error instanceof LayerloomError && error.code === 'MODEL_NOT_FOUND') return undefined;
    throw error;
  });

/** `locate`, of the text that names a model. */
export const locateText = async (model: string): Promise<FoundModel> => locate(await parseAddress(model));
