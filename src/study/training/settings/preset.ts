/** How `prepare_data.py` makes a prompt and a completion from a row. */
export type RowFormat =
  /** Columns joined by an empty line into the prompt, and the column of the completion. */
  | { readonly prompt: readonly string[]; readonly completion: string }
  /** A column with both sentences of a pair, by language code. */
  | { readonly translation: { readonly english: string; readonly other: string; readonly name: string } }
  /** A column with a conversation of user and assistant; the first exchange is taken. */
  | { readonly turns: string };

export interface DataSet {
  readonly name: string;
  /** The paper's name. */
  readonly title: string;
  /** The id on the Hugging Face hub as the paper prints it; absent for the unnamed data set. */
  readonly hub?: string;
  /** The hub's id today, if it differs from the printed one. */
  readonly hubToday?: string;
  /** As its card states; absent if unknown. */
  readonly licence?: string;
  readonly config?: string;
  readonly split?: string;
  /** A column and a value: only rows with this value are taken. */
  readonly where?: Readonly<Record<string, string>>;
  /** Skips files of the data set whose names contain this. */
  readonly withoutFiles?: string;
  readonly form: RowFormat;
}

/** A task or a language. `own-language` has no data in the paper. */
export type Category = 'math' | 'own-task' | 'swahili' | 'telugu' | 'bengali' | 'japanese' | 'own-language';

/** Returns the side of a merge for which the data are. */
export const kindOf = (category: Category): 'math' | 'language' =>
  category === 'math' || category === 'own-task' ? 'math' : 'language';

/** Hyper-parameters of one run, as a table of a paper prints them. */
export interface TrainingRow {
  readonly learningRate: number;
  /** Samples per optimiser step, over all devices. */
  readonly batchSize: number;
  /** Tokens. */
  readonly sequenceLength: number;
  readonly weightDecay: number;
  readonly maxGradNorm: number;
  /** `wsd`: warm-up, stable, decay. */
  readonly schedule: 'linear' | 'wsd';
  /** Optimiser steps. The unit is our reading, because the table prints a bare number. */
  readonly warmup: number;
  readonly beta2: number;
}

export interface Preset {
  readonly title: string;
  readonly row: TrainingRow;
  /** Name of the paper's expert; undefined if the paper has no such run. */
  readonly expert?: string;
  /** First part of the names of runs. Default: the preset's name. */
  readonly stem?: string;
  /** True if the row is ours; other presets use a row of the table. */
  readonly isOwnRow?: true;
  /** Name of the language in experiments; undefined for math alone. */
  readonly language?: string;
  /** Samples of a run. Default: the paper's number, with its checkpoints. */
  readonly samples?: number;
  /** Number of the run, its default seed. */
  readonly number: number;
  readonly categories: readonly Category[];
}

export interface PresetWithData {
  readonly preset: Preset;
  readonly sets: Readonly<Partial<Record<Category, readonly DataSet[]>>>;
}
