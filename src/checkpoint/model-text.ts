import { basename } from 'node:path';
import type { Place } from './adapter-text.js';
import { isWeightsName, withoutExtension } from './formats/formats.js';
import type { Location } from './model-place.js';

/**
 * Returns the text by which recipes for others name a model, without paths of this machine: a hub model with
 * its commit, `org/name@COMMIT`; else its name as a folder beside the recipe, `./math-1`; a base with an adapter as
 * `./base+./adapter`.
 */
export const modelText = ({ name, path, hub, adapted }: Place): string => {
  if (adapted !== undefined) {
    const { base, adapter } = adapted;
    if (name === adapter.name || name.includes('/'))
      return `${modelText(base)}+${modelText({ ...adapter, name })}`;
    return `${name}=${modelText(base)}+${modelText(adapter)}`;
  }
  if (hub !== undefined && hub.inside === undefined) {
    const text = `${hub.id}@${hub.revision}`;
    return name === hub.id || name.includes('/') ? text : `${name}=${text}`;
  }
  if (!isWeightsName(path)) return `./${name}`;
  const file = basename(path);
  return name === withoutExtension(file) || name.includes('/') ? `./${file}` : `${name}=./${file}`;
};

/**
 * Returns the text by which a recipe of this machine names a model: its path, behind `NAME=` where the path does
 * not say its name.
 */
export const modelAt = ({ name, path, hub }: Location, written: string = path): string => {
  const isPlain = name.includes('/') || name === hub?.id || name === withoutExtension(basename(path));
  return isPlain ? written : `${name}=${written}`;
};
