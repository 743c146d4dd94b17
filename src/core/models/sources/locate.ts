import { resolve } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { nearPath } from '../../base/files/near-path.js';
import { type ModelAddress, parseAddress, printAddress } from '../address/address.js';
import type { FoundModel } from '../address/found-model.js';
import { adaptersIn, namesOfAdapters, splitAdapter } from '../address/named-adapters.js';
import { localFiles } from './local-files.js';
import { remoteSources } from './sources.js';

/**
 * Finds a model on this machine without network: an existing path, or a source's local copy. `NAME=` sets the
 * model's name.
 *
 * @throws MODEL_NOT_FOUND, listing what was tried, also for a base with an adapter; READ_FAILED
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
  const named = await otherAdapters(at);
  if (named !== undefined) throw new LayerloomError('MODEL_NOT_FOUND', { model: at, tried, hint: named });
  const source = remoteSources.find((one) => one.names(at));
  const fetch = source?.fetchCommand?.(at);
  const near = nearPath(at.replace(/^[^=/]+=/, ''));
  if (near !== undefined) throw new LayerloomError('MODEL_NOT_FOUND', { model: at, tried, nearest: near });
  const hint = source === undefined ? misspellings.find(([pattern]) => pattern.test(at))?.[1] : undefined;
  throw new LayerloomError('MODEL_NOT_FOUND', {
    model: at,
    tried,
    ...(hint === undefined ? {} : { hint }),
    ...(fetch === undefined ? {} : { fetch }),
  });
};

/** Says which adapters a directory holds, for `DIR#ADAPTER`. */
const otherAdapters = async (at: string): Promise<string | undefined> => {
  const { directory } = splitAdapter(at) ?? {};
  const names = directory === undefined ? [] : await adaptersIn(directory);
  return directory === undefined || names.length === 0
    ? undefined
    : `${directory} holds ${namesOfAdapters(directory, names)}`;
};

/** Spellings of paths and names in other programs, each with a hint; the first match is reported. */
const misspellings: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/^["'“”‘’`]|["'“”‘’`]$/, 'the quotes are part of the name: leave them out'],
  [/^\s|\s$/, 'the name begins or ends with a space: leave it out'],
  [/^file:\/\//, 'give the path alone, without file://'],
  [/^[a-z][a-z\d+.-]*:\/\//i, 'such addresses are not read, unlike those of models on huggingface.co'],
  [/\\/, 'write / in place of \\'],
  [/^git@/, 'a model of the hub is named as org/name'],
  [/\*/, 'a shell expands `*` outside of quotes, where something matches'],
  [/[,\s]/, 'to give several models, separate them by spaces, outside quotes'],
  [/^[\w.-]+\/[\w.-]+:[\w./-]+$/, 'a revision follows @, as in org/name@main'],
  [
    /^(?!\.)[\w.-]+\/[\w.-]+(@[\w./-]+)?#/,
    'an adapter of several is named (#) in a directory here: download the repository, and give its path',
  ],
  [/^\w[\w.-]*$/, 'a model of the hub is named as org/name'],
];

/**
 * Like `locate`, but undefined if the model is not found.
 *
 * @throws READ_FAILED
 */
export const locateIfHere = (model: ModelAddress): Promise<FoundModel | undefined> =>
  locate(model).catch((error: unknown) => {
    if (error instanceof LayerloomError && error.code === 'MODEL_NOT_FOUND') return undefined;
    throw error;
  });

export const locateText = async (model: string): Promise<FoundModel> => locate(await parseAddress(model));
