import { basename } from 'node:path';
import { type FoundModel, type FoundWithAdapter, sharedAddress } from '../address/found-model.js';
import { splitName, withName } from '../address/name.js';
import { isModelFile, withoutExtension } from '../checkpoint/containers/containers.js';

// Texts that name found models. A name with a slash is never written as `NAME=`: it is a source's name, or
// contains folders.

/** Returns a portable name: `org/name@COMMIT`, `./math-1` beside the recipe, or `./base+./adapter`. */
export const portableText = (model: FoundWithAdapter): string => {
  const { name, path, adapted } = model;
  if (adapted !== undefined) {
    const { base, adapter } = adapted;
    if (name === adapter.name || name.includes('/'))
      return `${portableText(base)}+${portableText({ ...adapter, name })}`;
    return `${name}=${portableText(base)}+${portableText(adapter)}`;
  }
  const shared = sharedAddress(model);
  if (shared !== undefined) return withName(name.includes('/') ? undefined : name, shared);
  if (!isModelFile(path)) return `./${name}`;
  const file = basename(path);
  const isPlain = name === withoutExtension(file) || name.includes('/');
  return withName(isPlain ? undefined : name, `./${file}`);
};

export const byPortableText = <Model extends FoundWithAdapter>(
  models: readonly Model[],
): ReadonlyMap<string, Model> => new Map(models.map((model) => [portableText(model), model]));

export const modelOfText = <Model>(models: ReadonlyMap<string, Model>, text: string): Model | undefined =>
  models.get(text) ?? models.get(splitName(text).rest);

/** Returns this machine's path of a model, with `NAME=` if `text` has a name or the name isn't the path's. */
export const localText = <Model extends FoundModel>(
  models: ReadonlyMap<string, Model>,
  text: string,
  { name, path }: Model,
  written = path,
): string => {
  if (!models.has(text)) return withName(splitName(text).name, written);
  const isPlain = name.includes('/') || name === withoutExtension(basename(path));
  return withName(isPlain ? undefined : name, written);
};
