import { adapterConfigName, adapterWeightsName } from '../file-names.js';
import type { ContainerReader, WeightsIndex } from './container-reader.js';
import type { ContainerWriter } from './container-writer.js';
import { ggufReader } from './gguf/reader.js';
import { diffusersReader, safetensorsReader } from './safetensors/reader.js';
import { safetensorsWriter } from './safetensors/writer.js';
import { torchReaders } from './torch/reader.js';

/** The containers that checkpoints are read in, in the order in which a directory is searched for them. */
export const readers: readonly [ContainerReader, ...ContainerReader[]] = [
  safetensorsReader,
  diffusersReader,
  ...torchReaders,
  ggufReader,
];

/** The container of outputs and of shards in stores. */
export const writer: ContainerWriter = safetensorsWriter;

/** The reader of a file of weights: by its name, or the first one where an index has named it otherwise. */
export const readerOf = (file: string): ContainerReader =>
  readers.find(({ extension }) => file.endsWith(extension)) ?? readers[0];

/** True if a file is named like weights that are read. */
export const isWeightsName = (name: string): boolean =>
  readers.some(({ extension }) => name.endsWith(extension));

/** The name of a file of weights without its extension; other names as they are. */
export const withoutExtension = (name: string): string =>
  isWeightsName(name) ? name.slice(0, -readerOf(name).extension.length) : name;

/** Names of the files that say which tensor is in which file. */
export const indexNames: readonly string[] = readers.flatMap(({ index }) => index?.name ?? []);

/** The weights of a directory or repository, by the names of its files. */
export interface WeightsFound {
  readonly reader: ContainerReader;
  /** Empty where the index alone says which files are weights. */
  readonly files: readonly string[];
  /** Present where the index is one of the files. */
  readonly index: WeightsIndex | undefined;
}

/** Finds the weights of a model among the names of its files; undefined where there are none that are read. */
export const findWeights = (names: readonly string[]): WeightsFound | undefined => {
  for (const reader of readers) {
    const files = reader.weightsIn(names);
    const index = reader.index !== undefined && names.includes(reader.index.name) ? reader.index : undefined;
    if (files.length > 0 || index !== undefined) return { reader, files, index };
  }
  return undefined;
};

/**
 * Says why files are no checkpoint, and what to do.
 *
 * @param names of a directory or repository in which `findWeights` found nothing
 * @param remedy where the caller knows one
 */
export const whyNoWeights = (names: readonly string[], remedy?: string): string => {
  const wanted = new Set(readers.flatMap(({ looksFor, index }) => [looksFor, index?.name ?? []].flat()));
  const known = names.includes(adapterWeightsName)
    ? `it is an adapter without its ${adapterConfigName}; download or copy that too`
    : remedy;
  const otherwise = `give a model with weights in ${[...new Set(readers.map(({ name }) => name))].join(' or ')}`;
  return `has neither ${[...wanted].join(' nor ')}: ${known ?? otherwise}`;
};
