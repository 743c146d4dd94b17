import { existsIn } from '../../../base/files/exists.js';
import { nearest } from '../../../base/nearest.js';
import {
  expectKey,
  expectMapping,
  type Field,
  isRecipe,
  notAModel,
  present,
  type Scope,
} from '../document/fields.js';
import { invalidRecipe, unknownKey } from '../document/invalid.js';
import { isText, leaf, type Mapping, type MappingEntry, type Tree } from '../document/tree.js';
import { warnOfUnknown } from '../document/warning.js';

/** Returns an entry. If it is missing, the error reports a similar key as its misspelling. */
export const expectNamed = (of: Mapping, key: string, place: string): MappingEntry => {
  if (!of.entries.has(key))
    for (const [other, { key: mark }] of of.entries)
      if (nearest(other, [key]) !== undefined) throw unknownKey(other, mark, place, [key]);
  return expectKey(of, key, place);
};

/**
 * Reads mergekit's `path[@revision][+adapter]`, `{model, lora}` (or `{path, revision}`), or nested recipe.
 */
export const mergekitModel = (scope: Scope): Field => {
  const pathOf = (tree: Tree): string => {
    if (isText(tree)) return tree.value;
    const given = expectMapping(tree, 'model', 'a path, or path and revision');
    warnOfUnknown(given, 'the model', ['path', 'revision'], scope.warn);
    const { value: path } = expectNamed(given, 'path', 'the model');
    if (!isText(path)) throw notAModel(path);
    const revision = present(given.entries).get('revision')?.value;
    if (revision === undefined) return path.value;
    if (isText(revision)) return `${path.value}@${revision.value}`;
    throw invalidRecipe(revision.mark, {
      key: 'revision',
      reason: 'no revision',
      expected: 'text: put it in quotes',
    });
  };

  /** Removes a path's revision, which only hub models have. */
  const withoutRevision = async (path: string, { mark }: Tree): Promise<string> => {
    const { folder, revision } = /^(?<folder>.+)@(?<revision>[^@+]+)$/.exec(path)?.groups ?? {};
    const isHere = (at: string) => existsIn('.', at);
    if (folder === undefined || (await isHere(path)) || !(await isHere(folder))) return path;
    scope.warn({
      mark,
      key: `@${revision}`,
      reason: `${folder} is a local model, which has no revisions`,
    });
    return folder;
  };

  const named = async (tree: Tree, path: string): Promise<Tree> => {
    const recipe = await scope.named(path, tree.mark, '');
    if (recipe !== undefined) return recipe;
    const local = await withoutRevision(path, tree);
    return isText(tree) && tree.value === local ? tree : leaf(tree.mark, local);
  };

  return async (value) => {
    if (isText(value)) return named(value, value.value);
    if (value.kind !== 'mapping' || isPlaceholder(value)) throw notAModel(value);
    if (isRecipe(value)) return scope.nested(value);
    warnOfUnknown(value, 'the model', ['model', 'lora', 'override_architecture'], scope.warn);
    const entries = present(value.entries);
    const override = entries.get('override_architecture');
    if (override !== undefined)
      scope.warn({
        mark: override.key,
        key: 'override_architecture',
        reason: 'tensors are taken by their names, whatever the architecture',
        effect: 'ignored',
      });
    const { value: inner } = expectNamed(value, 'model', 'the model');
    const lora = entries.get('lora')?.value;
    if (lora !== undefined) return named(inner, `${pathOf(inner)}+${pathOf(lora)}`);
    if (inner.kind === 'mapping' && isRecipe(inner)) return scope.nested(inner);
    return named(inner, pathOf(inner));
  };
};

/** True for `{NAME}`: a placeholder that a program was to fill in, and a mapping in YAML. */
const isPlaceholder = ({ entries }: Mapping): boolean => entries.size > 0 && present(entries).size === 0;
