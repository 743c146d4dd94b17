import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { layerloomCommand } from '../../base/errors/command-line.js';
import { LayerloomError } from '../../base/errors/errors.js';
import { unlessMissing } from '../../base/files/unless-missing.js';
import { nearest } from '../../base/nearest.js';
import { parseAddress, partsOf, printAddress, resolveAddress } from '../../models/address/address.js';
import { locateIfHere } from '../../models/sources/locate.js';
import type { Scope } from './document/fields.js';
import { invalidRecipe, unknownKey } from './document/invalid.js';
import type { Mark } from './document/source.js';
import type { Mapping } from './document/tree.js';
import { type RecipeWarning, warningOf } from './document/warning.js';
import { readMergekit } from './mergekit/mergekit.js';
import { isMergekitMoe, readMergekitMoe } from './mergekit/mergekit-moe.js';
import { refuseOtherTools } from './mergekit/other-tools.js';
import { readOurs } from './our-dialect.js';
import {
  isRecipeText,
  type RecipeDocument,
  type RecipeFile,
  readRecipeFile,
  readRecipeText,
} from './recipe-file.js';
import type { RecordedInputs } from './recorded-inputs.js';
import type { RecordedRecipe } from './recorded-recipe.js';

/** Maximum number of merges. Documents that use other documents twice double the number at each level. */
const mostMerges = 1000;

/** A step in a chain of recipes; a repeated step is a cycle. */
interface Link {
  readonly id: string;
  readonly label: string;
}

interface Surroundings {
  readonly file: string;
  readonly documents: ReadonlyMap<string, RecipeDocument>;
  readonly used: Set<string>;
  readonly find: (model: string) => Promise<string>;
  /** True for a model in the file's record. */
  readonly isRecorded: (word: string) => boolean;
}

interface Finished {
  readonly name: string | undefined;
  readonly mark: Mark;
  readonly recipe: Mapping;
}

/** Reads a recipe and those it uses, in sequence, each once. */
export class Reading {
  recorded: RecordedInputs | undefined;
  readonly warnings: RecipeWarning[] = [];
  readonly #done = new Map<string, { readonly recipe: Mapping; readonly merges: number }>();
  #merges = 0;

  /**
   * Reads a file, or a recipe given as text.
   *
   * @throws RECIPE_INVALID
   */
  given(given: string): Promise<Mapping> {
    if (!isRecipeText(given)) return this.file(given);
    const name = 'recipe';
    return this.#file(name, () => readRecipeText(given, name));
  }

  /**
   * @param mark where the file is named; undefined if the user named it
   * @throws RECIPE_INVALID
   */
  file(file: string, chain: readonly Link[] = [], mark?: Mark): Promise<Mapping> {
    return this.#file(file, () => documentsOf(file, mark), chain, mark);
  }

  #file(
    file: string,
    read: () => RecipeFile | Promise<RecipeFile>,
    chain: readonly Link[] = [],
    mark?: Mark,
  ): Promise<Mapping> {
    return this.#once({ id: resolve(file), label: file }, chain, mark, async (links) => {
      const { documents, recorded, repeated } = await read();
      for (const { key, mark: place } of repeated)
        this.warnings.push(
          warningOf({
            key,
            mark: place,
            reason: 'this key stands twice in one mapping',
            effect: 'the last one counts, as in mergekit',
          }),
        );
      if (mark === undefined) this.recorded = recorded?.recorded;
      const named = documents.flatMap((document) =>
        document.name === undefined ? [] : [[document.name, document] as const],
      );
      const surroundings = {
        file,
        documents: new Map(named),
        used: new Set<string>(),
        find: finderIn(dirname(file), recorded),
        isRecorded: (word: string) => recorded?.recorded?.has(word) ?? false,
      };
      const [first, ...others] = documents;
      const finish = async (document: RecipeDocument): Promise<Finished> => ({
        name: document.name,
        mark: document.recipe.mark,
        recipe: await this.#document(document, surroundings, links),
      });
      const finished: [Finished, ...Finished[]] = [await finish(first)];
      for (const document of others) finished.push(await finish(document));
      return resultOf(finished, surroundings.used);
    });
  }

  #document(
    { name, recipe }: RecipeDocument,
    surroundings: Surroundings,
    chain: readonly Link[],
    mark?: Mark,
  ): Promise<Mapping> {
    const read = (links: readonly Link[]) => this.#recipe(recipe, surroundings, links);
    if (name === undefined) return read(chain);
    return this.#once({ id: `${resolve(surroundings.file)}\0${name}`, label: name }, chain, mark, read);
  }

  #recipe(recipe: Mapping, surroundings: Surroundings, chain: readonly Link[]): Promise<Mapping> {
    this.#count(1, recipe.mark);
    const scope: Scope = {
      folder: dirname(surroundings.file),
      warn: (oddity) => void this.warnings.push(warningOf(oddity)),
      find: surroundings.find,
      nested: async (inner) => {
        const name = inner.entries.get('name');
        if (name === undefined) return this.#recipe(inner, surroundings, chain);
        throw invalidRecipe(name.key, {
          key: 'name',
          reason: 'unknown key of a recipe in the place of a model',
        });
      },
      named: async (word, mark, folder) => {
        const document = surroundings.documents.get(word);
        if (document !== undefined) {
          surroundings.used.add(word);
          return this.#document(document, surroundings, chain, mark);
        }
        // A folder with the stage's name must not be used instead.
        const [stage = word] = word.split('+', 1);
        if (surroundings.documents.has(stage))
          throw invalidRecipe(mark, {
            key: word,
            reason: `${stage} is a recipe of this file, which takes no adapter`,
            expected: `the output of ${stage}, merged in a step of its own`,
          });
        if (!/\.ya?ml$/i.test(word) || surroundings.isRecorded(word)) return undefined;
        const inner = isAbsolute(word) ? word : join(folder, word);
        // A model's folder may be named `….yaml`.
        return (await isFolder(inner)) ? undefined : this.file(inner, chain, mark);
      },
    };
    return readers[dialectOf(recipe)](recipe, scope);
  }

  async #once(
    link: Link,
    chain: readonly Link[],
    mark: Mark | undefined,
    read: (links: readonly Link[]) => Promise<Mapping>,
  ): Promise<Mapping> {
    const begin = chain.findIndex(({ id }) => id === link.id);
    if (begin >= 0 && mark !== undefined) {
      const circle = [...chain.slice(begin), link].map(({ label }) => label);
      throw invalidRecipe(mark, {
        key: link.label,
        reason: `recipes use each other in a circle: ${circle.join(' → ')}`,
      });
    }
    const former = this.#done.get(link.id);
    if (former !== undefined) {
      if (mark !== undefined) this.#count(former.merges, mark);
      return former.recipe;
    }
    const before = this.#merges;
    const recipe = await read([...chain, link]);
    this.#done.set(link.id, { recipe, merges: this.#merges - before });
    return recipe;
  }

  #count(merges: number, mark: Mark): void {
    this.#merges += merges;
    if (this.#merges > mostMerges)
      throw invalidRecipe(mark, { reason: `the recipe comes to more than ${mostMerges} merges` });
  }
}

const isFolder = async (path: string): Promise<boolean> =>
  (await unlessMissing(path, stat(path)))?.isDirectory() === true;

const finderIn =
  (folder: string, { recorded, recordedFirst = false }: Partial<RecordedRecipe> = {}) =>
  async (model: string): Promise<string> => {
    const former = recordedFirst ? await recorded?.find(model) : undefined;
    if (former !== undefined) return former;
    const address = resolveAddress(await parseAddress(model, folder), folder);
    const found = printAddress(address);
    if (recorded === undefined) return found;
    const parts = await Promise.all(partsOf(address).map(locateIfHere));
    const isThere = parts.every((part) => part !== undefined);
    if (isThere && recordedFirst) recorded.note(model, found);
    return isThere ? found : ((await recorded.find(model)) ?? found);
  };

/** Reads a file's documents. Errors point to the recipe that names the file, at `mark`, if any. */
const documentsOf = async (file: string, mark: Mark | undefined): Promise<RecipeFile> => {
  try {
    return await readRecipeFile(file);
  } catch (error) {
    if (mark === undefined || !(error instanceof LayerloomError) || error.context.place !== undefined)
      throw error;
    throw invalidRecipe(mark, { reason: error.message });
  }
};

const readers = { ours: readOurs, mergekit: readMergekit, 'mergekit-moe': readMergekitMoe };

const dialectOf = ({ entries, mark }: Mapping): keyof typeof readers => {
  if (isMergekitMoe(entries)) return 'mergekit-moe';
  refuseOtherTools(entries);
  const [ours, theirs] = [entries.get('method'), entries.get('merge_method')];
  if (ours !== undefined && theirs !== undefined)
    throw invalidRecipe(theirs.key, {
      key: 'merge_method',
      reason: 'stands beside method',
      expected: "method in layerloom's dialect, merge_method in mergekit's",
    });
  if (ours !== undefined) return 'ours';
  if (theirs !== undefined) return 'mergekit';
  const known = ['method', 'merge_method'];
  for (const [key, entry] of entries)
    if (nearest(key, known) !== undefined) throw unknownKey(key, entry.key, 'the recipe', known);
  throw invalidRecipe(mark, {
    reason: entries.has('merges')
      ? `this is an experiment, which \`${layerloomCommand('batch')}\` runs, and no recipe`
      : 'the recipe names no method',
    expected: "method (layerloom's dialect) or merge_method (mergekit's)",
  });
};

/** Returns the document without a name, or the only document that no other document uses. */
const resultOf = (finished: readonly [Finished, ...Finished[]], used: ReadonlySet<string>): Mapping => {
  const free = finished.filter(({ name }) => name === undefined || !used.has(name));
  // At least one document is unused, because cycles have been refused.
  const [first = finished[0], second] = free;
  const result = free.find(({ name }) => name === undefined) ?? first;
  if (result.name !== undefined && second !== undefined)
    throw invalidRecipe(second.mark, {
      reason: `no other document uses ${free.map(({ name }) => name).join(' or ')}`,
      expected: 'one of them without a name: the result',
    });
  return result.recipe;
};
