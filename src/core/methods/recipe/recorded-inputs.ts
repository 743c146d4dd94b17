import * as z from 'zod';
import { allWithinReach } from '../../base/files/exists.js';
import { type FoundModel, foundModels } from '../../models/address/found-model.js';
import { recordedOriginShape } from '../../models/address/origin-schema.js';
import type { AdaptedFrom } from '../../models/checkpoint/checkpoint.js';
import { byPortableText, localText, modelOfText } from '../../models/sources/found-text.js';

const text = z.string();

const found = z.object({ name: text, path: text, ...recordedOriginShape });

/** An input in `layerloom.json`; drops unknown keys. */
const inputSchema = found.extend({
  role: text,
  adapted: z.object({ base: found, adapter: found, config: text }).exactOptional(),
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

/** A recorded file, with values that show whether it has changed. */
export interface RecordedFile {
  readonly file: string;
  readonly bytes: number;
  readonly mtimeNs: string;
  /** SHA-256 of all bytes before the tensors' data. */
  readonly header: string;
  readonly sha256?: string;
}

/** A recorded input, with its path on the machine that merged. */
export interface RecordedInput extends FoundModel {
  readonly role: string;
  readonly adapted?: Pick<AdaptedFrom, 'base' | 'adapter' | 'config'>;
  readonly files: readonly RecordedFile[];
}

/** Recorded inputs, for finding a recipe's models. */
export class RecordedInputs {
  readonly file: string;
  readonly inputs: readonly RecordedInput[];
  /** Found inputs, by the address that replaces the model in the recipe. */
  readonly found = new Map<string, RecordedInput>();
  readonly #byText: ReadonlyMap<string, RecordedInput>;

  constructor(file: string, inputs: readonly RecordedInput[]) {
    this.file = file;
    this.inputs = inputs;
    this.#byText = byPortableText(inputs);
  }

  /** True for a text with which the record names a model. */
  has(model: string): boolean {
    return this.#byText.has(model);
  }

  /**
   * Finds a model at the recorded path.
   *
   * @returns the path, after `NAME=` if the folder has another name; undefined if the model is not there
   * @throws READ_FAILED
   */
  async find(model: string): Promise<string | undefined> {
    const input = modelOfText(this.#byText, model);
    // The paths are from the machine that merged, and this user may not be allowed to read them. A model
    // found elsewhere is compared with the record.
    if (input === undefined || !(await allWithinReach(foundModels(input).map(({ path }) => path))))
      return undefined;
    const found = localText(this.#byText, model, input);
    this.found.set(found, input);
    return found;
  }

  /** Notes the address at which a model was found. */
  note(model: string, found: string): void {
    const input = modelOfText(this.#byText, model);
    if (input !== undefined) this.found.set(found, input);
  }
}
