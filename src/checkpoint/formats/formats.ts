import type { ContainerFormat } from './format.js';
import { safetensors } from './safetensors.js';

/** Container formats that checkpoints are read in. */
export const formats: readonly ContainerFormat[] = [safetensors];

/** The container format of outputs and of shards in stores. */
export const outputFormat: ContainerFormat = safetensors;

/** The format of a checkpoint's file: by its name, or the first one where an index has named it otherwise. */
export const formatOf = (file: string): ContainerFormat =>
  formats.find(({ extension }) => file.endsWith(extension)) ?? safetensors;

/** True if a file is named like weights. */
export const isWeightsName = (name: string): boolean =>
  formats.some(({ extension }) => name.endsWith(extension));

/** The name of a file of weights without its extension; other names as they are. */
export const withoutExtension = (name: string): string =>
  isWeightsName(name) ? name.slice(0, -formatOf(name).extension.length) : name;
