/** How `prepare_data.py` makes a prompt and a completion from a row. */
export type RowFormat =
  /** Prompt's columns, joined by empty lines, and the completion's column. */
  | { readonly prompt: readonly string[]; readonly completion: string }
  /** Column with both sentences of a translation, by language code. */
  | { readonly translation: { readonly english: string; readonly other: string; readonly name: string } }
  /** Column with a conversation, whose first exchange is used. */
  | { readonly turns: string };

export interface DataSet {
  readonly name: string;
  readonly title: string;
  /** Hugging Face hub id as printed in the paper; absent for the unnamed data set. */
  readonly hub?: string;
  /** Present hub id, if it differs from the printed id. */
  readonly hubToday?: string;
  /** From the card; absent if unknown. */
  readonly licence?: string;
  readonly config?: string;
  readonly split?: string;
  /** Use only rows with these values. */
  readonly where?: Readonly<Record<string, string>>;
  /** Skip files whose names contain this. */
  readonly withoutFiles?: string;
  readonly form: RowFormat;
}

/** Task or a language. `own-language` has no data in the paper. */
export type Category = 'math' | 'own-task' | 'swahili' | 'telugu' | 'bengali' | 'japanese' | 'own-language';

/** Returns the side of a merge for which the data are: the task (`math`) or the language. */
export const kindOf = (category: Category): 'math' | 'language' =>
  category === 'math' || category === 'own-task' ? 'math' : 'language';

/** Hyper-parameters of one run, as in the papers' tables. */
export interface TrainingRow {
  readonly learningRate: number;
  /** Samples per optimiser step, over all devices. */
  readonly batchSize: number;
  /** Tokens. */
  readonly sequenceLength: number;
  readonly weightDecay: number;
  readonly maxGradNorm: number;
  readonly schedule: 'linear' | 'wsd';
  /** Optimiser steps. The table has a number without a unit; steps are our reading. */
  readonly warmup: number;
  readonly beta2: number;
}

export interface Preset {
  readonly title: string;
  readonly row: TrainingRow;
  /** Paper's expert; undefined if the paper has no such run. */
  readonly expert?: string;
  /** First part of run names; default: the preset's name. */
  readonly stem?: string;
  /** True if the hyper-parameters are ours, not the table's. */
  readonly isOwnRow?: true;
  /** Language's name in experiments; undefined for math alone. */
  readonly language?: string;
  /** Samples per run; default: the paper's number. */
  readonly samples?: number;
  /** Number of the run, which is also its default seed. */
  readonly number: number;
  readonly categories: readonly Category[];
}

export interface PresetWithData {
  readonly preset: Preset;
  readonly sets: Readonly<Partial<Record<Category, readonly DataSet[]>>>;
}
