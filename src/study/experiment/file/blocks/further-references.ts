import { nearest } from '../../../../core/base/nearest.js';
import { expectKey, expectList } from '../../../../core/methods/recipe/document/fields.js';
import { checkKeys, invalidRecipe } from '../../../../core/methods/recipe/document/invalid.js';
import { isText, type MappingEntry, type Tree } from '../../../../core/methods/recipe/document/tree.js';
import { expectText, flagOf } from './blocks.js';
import { absoluteModel } from './models.js';
import { checkName, type ModelNames } from './names.js';

/** Model under `references` that is scored beside the merges and never merged. */
export interface FurtherReference {
  readonly name: string;
  /** User's word, in kebab case: `joint`, `math-sft`. */
  readonly role: string;
  /** Languages to measure it in; undefined for all. */
  readonly languages: readonly string[] | undefined;
  /** Absolute path, or `org/name`. */
  readonly path: string;
}

const defaultRole = 'checkpoint';

/** Reserved roles: averages over experts use them. */
const reservedRoles = ['base', 'task', 'language', 'merge'];

const roleName = /^(?=.{1,64}$)[a-z][a-z0-9]*(-[a-z0-9]+)*$/;

/**
 * Reads `references`: a flag, or further models, each as `NAME: PATH` or `NAME: {model, role, languages}`.
 *
 * @returns `references` is true if the base and the single experts are compared
 * @throws RECIPE_INVALID for a taken name, a reserved role, or an unknown language
 */
export const referencesOf = async (
  entry: MappingEntry | undefined,
  {
    languages,
    directory,
    names,
    hasMerges,
  }: { languages: readonly string[]; directory: string; names: ModelNames; hasMerges: boolean },
): Promise<{ references: boolean; furtherReferences: FurtherReference[] }> => {
  if (entry?.value.kind !== 'mapping')
    return { references: flagOf(entry, 'references') ?? true, furtherReferences: [] };
  if (entry.value.entries.size === 0)
    throw invalidRecipe(entry.value.mark, {
      key: 'references',
      reason: 'it is empty',
      expected: 'true, false, or models, each with name and path',
    });
  const furtherReferences: FurtherReference[] = [];
  for (const [name, { key, value }] of entry.value.entries) {
    checkName(name, key, hasMerges ? 'reference' : 'model');
    const reference = await referenceOf(name, value, { languages, directory });
    names.add(name, 'a reference', reference.path, key);
    furtherReferences.push(reference);
  }
  return { references: true, furtherReferences };
};

const referenceOf = async (
  name: string,
  tree: Tree,
  { languages, directory }: { languages: readonly string[]; directory: string },
): Promise<FurtherReference> => {
  const at = async (path: Tree, key: string) =>
    await absoluteModel(directory, expectText(path, key, 'the path of a checkpoint, or org/name').value);
  if (tree.kind !== 'mapping')
    return { name, role: defaultRole, languages: undefined, path: await at(tree, name) };
  const place = `the reference ${name}`;
  checkKeys(tree.entries, place, ['model', 'role', 'languages']);
  const role = tree.entries.get('role')?.value;
  const limited = tree.entries.get('languages')?.value;
  return {
    name,
    role: role === undefined ? defaultRole : roleOf(role),
    languages: limited === undefined ? undefined : languagesOf(limited, languages),
    path: await at(expectKey(tree, 'model', place).value, 'model'),
  };
};

const roleOf = (tree: Tree): string => {
  const { value, mark } = expectText(tree, 'role', 'a word such as joint');
  if (!roleName.test(value))
    throw invalidRecipe(mark, {
      key: value,
      reason: 'not a valid role',
      expected: 'lower-case letters, digits and hyphens, at most 64: joint, math-sft',
    });
  if (reservedRoles.includes(value))
    throw invalidRecipe(mark, {
      key: value,
      reason: 'this role is reserved for merges and the models that they merge',
      expected: 'another word, such as joint or checkpoint',
    });
  return value;
};

const languagesOf = (tree: Tree, known: readonly string[]): string[] => {
  const expected = `some of ${known.join(', ')}`;
  const chosen = new Set<string>();
  for (const item of tree.kind === 'list' ? expectList(tree, 'languages', expected).items : [tree]) {
    const word = isText(item) ? item.value : undefined;
    if (word === undefined || !known.includes(word))
      throw invalidRecipe(item.mark, {
        key: word ?? 'languages',
        reason: 'not a language of the experiment',
        expected,
        nearest: word === undefined ? undefined : nearest(word, known),
      });
    chosen.add(word);
  }
  return [...chosen];
};
