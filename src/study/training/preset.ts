/** What the rows of a data set are, for `prepare_data.py` to make a prompt and a completion of each. */
export type RowForm =
  /** Columns joined by an empty line into the prompt, and the column of the completion. */
  | { readonly prompt: readonly string[]; readonly completion: string }
  /** A column with both sentences of a pair, by the codes of their languages. */
  | { readonly translation: { readonly english: string; readonly other: string; readonly name: string } }
  /** A column with a conversation: pairs of what the user and the assistant say; the first pair is taken. */
  | { readonly turns: string };

/** A public data set, for supervised fine-tuning. */
export interface DataSet {
  /** The name in `--data NAME=PATH`. */
  readonly name: string;
  /** As the paper names it. */
  readonly title: string;
  /** The id on the Hugging Face hub as the paper prints it; absent for the one without a name. */
  readonly hub?: string;
  /** The id that the hub has, where the printed one is another. */
  readonly hubToday?: string;
  /** The hub's configuration. */
  readonly config?: string;
  /** Default `train`. */
  readonly split?: string;
  /** Rows to take: those in which a column has this value. */
  readonly where?: Readonly<Record<string, string>>;
  /** Files of the data set to leave out: those whose names contain this. */
  readonly withoutFiles?: string;
  readonly form: RowForm;
}

/** What data teach: the task, or a language. `own-language` is one that the paper has no data for. */
export type Category = 'math' | 'own-task' | 'swahili' | 'telugu' | 'bengali' | 'japanese' | 'own-language';

/** The side of a merge that data of a category are for. */
export const kindOf = (category: Category): 'math' | 'language' =>
  category === 'math' || category === 'own-task' ? 'math' : 'language';

/** Hyper-parameters of one training run, as a table of a paper prints them. */
export interface TrainingRow {
  /** Peak learning rate. */
  readonly learningRate: number;
  /** Samples per optimiser step, over all devices. */
  readonly batchSize: number;
  /** Tokens. */
  readonly sequenceLength: number;
  readonly weightDecay: number;
  readonly maxGradNorm: number;
  /** `wsd` is warm-up, stable, decay. */
  readonly schedule: 'linear' | 'wsd';
  /** Optimiser steps: the unit is ours, the table prints a number alone. */
  readonly warmup: number;
  readonly beta2: number;
}

/** What a preset trains: kinds of data, hyper-parameters, and the number of the run. */
export interface Preset {
  readonly title: string;
  readonly row: TrainingRow;
  /** Undefined where no paper prints such a run. */
  readonly expert?: string;
  /** First part of the names of runs; undefined for the preset's name. */
  readonly stem?: string;
  /** True where the row is ours; that of other baselines is a row of the table. */
  readonly isOwnRow?: true;
  /** Name of the language in experiments; undefined for math alone. */
  readonly language?: string;
  /** Samples of a run; undefined for the paper's number, with its checkpoints. */
  readonly samples?: number;
  /** Number of the run, its default seed. */
  readonly number: number;
  readonly categories: readonly Category[];
}

/** A preset, and the data sets of each of its categories. */
export interface PresetWithData {
  readonly preset: Preset;
  readonly sets: Readonly<Partial<Record<Category, readonly DataSet[]>>>;
}
