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

/** Names of the files that say which tensor is in which file. */
export const indexNames: readonly string[] = readers.flatMap(({ index }) => index?.name ?? []);

/** The reader of the files that an index names; undefined for a file that is no index. */
export const readerOfIndex = (name: string): ContainerReader | undefined =>
  readers.find(({ index }) => index?.name === name);

/** True for a file that is a model by itself: weights, or an index of such. */
export const isModelFile = (name: string): boolean =>
  isWeightsName(name) || indexNames.some((index) => name === index || name.endsWith(`/${index}`));

/** The name of a file of weights, or of an index, without its extension; other names as they are. */
export const withoutExtension = (name: string): string => {
  const weights = name.endsWith(indexEnd) ? name.slice(0, -indexEnd.length) : name;
  return isModelFile(name) ? weights.slice(0, -readerOf(weights).extension.length) : name;
};

const indexEnd = '.index.json';

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
 * True where an index says which files are the model's: beside a whole file of which it says nothing transformers does not
 * read it, and diffusers reads nothing else.
 */
export const isIndexRead = ({ reader, files }: WeightsFound, named: readonly string[]): boolean =>
  reader.indexGoesFirst === true || files.length === 0 || files.some((file) => named.includes(file));

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
