import { invalidRecipe } from '../../../../core/methods/recipe/document/invalid.js';
import type { Mark } from '../../../../core/methods/recipe/document/source.js';
import { folded, placeOf } from './names.js';

interface Directory {
  readonly name: string;
  readonly mark: Mark;
}

/** Longest directory name on common file systems, in bytes (NAME_MAX). */
const longest = 255;

/** @throws RECIPE_INVALID if directories of merges are equal, nested or too long */
export const checkDirectories = (directories: readonly Directory[]): void => {
  const taken = new Map<string, Directory>();
  for (const directory of directories) {
    const former = taken.get(folded(directory.name));
    if (former !== undefined) throw clash(former, directory);
    taken.set(folded(directory.name), directory);
  }
  for (const directory of directories) {
    const parts = folded(directory.name).split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const outer = taken.get(parts.slice(0, depth).join('/'));
      if (outer !== undefined) throw clash(outer, directory);
    }
    const long = parts.find((part) => Buffer.byteLength(part) > longest);
    if (long !== undefined)
      throw invalidRecipe(directory.mark, {
        key: long,
        reason: `this directory name has more than ${longest} bytes`,
        expected: 'shorter names, or fewer values that vary',
      });
  }
};

const clash = (former: Directory, { name, mark }: Directory): Error =>
  invalidRecipe(mark, {
    key: name,
    reason: `${former.name}, of the merge at ${placeOf(former.mark)}, is ${folded(former.name) === folded(name) ? 'this directory too' : 'a directory around it'}`,
    expected: 'names that tell them apart',
  });
