import * as z from 'zod';
import { placesOf } from '../checkpoint/adapter-text.js';
import type { AdaptedFrom } from '../checkpoint/checkpoint.js';
import { allExist, type HubRevision, splitName } from '../checkpoint/model-place.js';
import { modelAt, modelText } from '../checkpoint/model-text.js';

const text = z.string();

const hub = z.object({ id: text, revision: text, inside: text.exactOptional() }).exactOptional();

const location = z.object({ name: text, path: text, hub });

/** An input as `layerloom.json` records it; keys that are not needed here are left out. */
const inputSchema = z.object({
  role: text,
  name: text,
  path: text,
  hub,
  adapted: z.object({ base: location, adapter: location, config: text }).exactOptional(),
  files: z.array(
    z.object({
      file: text,
      bytes: z.number(),
      mtimeNs: text,
      header: text,
      sha256: text.exactOptional(),
    }),
  ),
});

export const inputsSchema = z.array(inputSchema);

/** A file of a recorded input, with what tells whether it has changed. */
export interface RecordedFile {
  /** Its name without the folder. */
  readonly file: string;
  readonly bytes: number;
  readonly mtimeNs: string;
  /** SHA-256 of all bytes before the data. */
  readonly header: string;
  /** Of the whole file, where it was recorded. */
  readonly sha256?: string;
}

/** A model that went into a merge, as the merge's `layerloom.json` records it. */
export interface RecordedInput {
  readonly role: string;
  readonly name: string;
  /** Absolute, on the machine that merged. */
  readonly path: string;
  readonly hub?: HubRevision;
  /** Where it was a base with an adapter. */
  readonly adapted?: Pick<AdaptedFrom, 'base' | 'adapter' | 'config'>;
  readonly files: readonly RecordedFile[];
}

/** The inputs of a merge, by which the models of its recipe are found. */
export class RecordedInputs {
  /** The `layerloom.json` that records them. */
  readonly file: string;
  readonly inputs: readonly RecordedInput[];
  /** The records of models that were found, by the text that the recipe then has for them. */
  readonly found = new Map<string, RecordedInput>();
  readonly #byText: ReadonlyMap<string, RecordedInput>;

  constructor(file: string, inputs: readonly RecordedInput[]) {
    this.file = file;
    this.inputs = inputs;
    this.#byText = new Map(inputs.map((input) => [modelText(input), input]));
  }

  /** True for the text of a recorded model. */
  has(model: string): boolean {
    return this.#byText.has(model);
  }

  /**
   * Finds a model of the recipe at its recorded path.
   *
   * @returns its path, behind `NAME=` where a folder's name is not its name; undefined where it is not there
   */
  async find(model: string): Promise<string | undefined> {
    const own = this.#byText.get(model);
    const named = own === undefined ? splitName(model) : undefined;
    const input = own ?? this.#byText.get(named?.rest ?? '');
    if (input === undefined || !(await allExist(placesOf(input).map(({ path }) => path)))) return undefined;
    const found = named === undefined ? modelAt(input) : `${named.name}=${input.path}`;
    this.found.set(found, input);
    return found;
  }

  /** Notes that a model of the recipe, which is not at its recorded path, was found as `found`. */
  note(model: string, found: string): void {
    const input = this.#byText.get(model) ?? this.#byText.get(splitName(model)?.rest ?? '');
    if (input !== undefined) this.found.set(found, input);
  }
}
