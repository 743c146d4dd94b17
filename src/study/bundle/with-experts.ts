import { basename, join } from 'node:path';
import { exists } from '../../core/base/files/exists.js';
import { splitName, withName } from '../../core/models/address/name.js';
import { isRemote } from '../../core/models/address/remote.js';
import { isObject } from '../../core/models/checkpoint/files/json.js';
import { yamlValue } from '../../core/texts/yaml.js';
import type { ExperimentInput } from '../experiment/file/blocks/experiment-block.js';

/**
 * Reads another machine's experiment. Local models become folders in `experts`, named like the model or like
 * the last part of its former path. Hub models stay, unless such a folder exists. Drops `search`, and
 * `evaluate`, whose commands a stranger may have written.
 *
 * @throws YamlRefused, LayerloomError READ_FAILED
 */
export const withExperts = async (text: string, experts: string): Promise<ExperimentInput> => {
  const written = yamlValue(text, 'none');
  const { evaluate: _evaluate, search: _search, ...found } = isObject(written) ? written : {};
  const placed = async (name: string, value: unknown): Promise<unknown> => {
    if (typeof value === 'string') return await placeOf(name, value, experts);
    if (!isObject(value) || value['model'] === undefined) return value;
    return { ...value, model: await placed(name, value['model']) };
  };
  const each = async (value: unknown, inner: typeof placed): Promise<unknown> => {
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(async ([name, of]) => [name, await inner(name, of)] as const);
    return Object.fromEntries(await Promise.all(entries));
  };
  const blocks: Readonly<Record<string, (value: unknown) => Promise<unknown>>> = {
    base: (value) => placed('base', value),
    tasks: (value) => each(value, placed),
    runs: (value) => each(value, placed),
    references: (value) => each(value, placed),
    languages: (value) => each(value, (_language, of) => each(of, placed)),
  };
  // The experiment's parser checks the text, which a stranger may have written.
  return (await each(found, async (key, value) => (await blocks[key]?.(value)) ?? value)) as ExperimentInput;
};

const placeOf = async (name: string, written: string, experts: string): Promise<string> => {
  const { name: given, rest } = splitName(written);
  const own = given ?? name;
  for (const place of [join(experts, own), join(experts, basename(rest))])
    if (await exists(place)) return withName(given, place);
  // An adapter and its base have separate folders.
  const parts = rest.split('+');
  if (parts.length === 2 && !parts.includes(''))
    return withName(
      given,
      parts.map((part) => (isRemote(part) ? part : join(experts, basename(part)))).join('+'),
    );
  return isRemote(rest) ? written : withName(given, join(experts, own));
};
