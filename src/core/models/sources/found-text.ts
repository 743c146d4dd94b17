import { basename } from 'node:path';
import { type FoundModel, type FoundParts, sharedAddress } from '../address/found-model.js';
import { splitName, withName } from '../address/name.js';
import { isModelFile, withoutExtension } from '../checkpoint/containers/containers.js';

// Texts of models that were found. A name with a slash is never put before one: it is a source's, or made of folders.

/**
 * Returns the text by which recipes for others name a model, without paths of this machine: the address that any machine
 * finds (`org/name@COMMIT`); else its name as a folder beside the recipe, `./math-1`; a base with an adapter as
 * `./base+./adapter`.
 */
export const portableText = (model: FoundParts): string => {
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

/** Returns models by the texts that recipes for others have for them. */
export const byPortableText = <Model extends FoundParts>(
  models: readonly Model[],
): ReadonlyMap<string, Model> => new Map(models.map((model) => [portableText(model), model]));

/** Returns the model of a text of such a recipe, which may have a name in front of it. */
export const modelOfText = <Model>(models: ReadonlyMap<string, Model>, text: string): Model | undefined =>
  models.get(text) ?? models.get(splitName(text).rest);

/**
 * Returns the text by which a recipe of this machine names a model that a recipe for others names by `text`: its path,
 * behind `NAME=` where that has one, or where the path does not say its name.
 */
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
