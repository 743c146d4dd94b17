import { adapterConfigName, adapterWeightsName } from '../files/file-names.js';
import type { ContainerReader, WeightsIndex } from './container-reader.js';
import type { ContainerWriter } from './container-writer.js';
import { deepspeedReader } from './deepspeed/reader.js';
import { distributedReader } from './distributed/reader.js';
import { ggufReader } from './gguf/reader.js';
import { diffusersReader, safetensorsReader } from './safetensors/reader.js';
import { safetensorsWriter } from './safetensors/writer.js';
import { torchReaders } from './torch/reader.js';

/** Input formats, in the order in which a directory is searched for them. */
export const readers: readonly [ContainerReader, ...ContainerReader[]] = [
  safetensorsReader,
  diffusersReader,
  // Comes before the reader of all other .pt files.
  deepspeedReader,
  ...torchReaders,
  ggufReader,
  distributedReader,
];

export const writer: ContainerWriter = safetensorsWriter;

/** Returns a file's reader by extension; the first reader for names that only an index allows. */
export const readerOf = (file: string): ContainerReader =>
  readers.find(({ extension }) => file.endsWith(extension)) ?? readers[0];

export const isWeightsName = (name: string): boolean =>
  readers.some(({ extension }) => name.endsWith(extension));

/** Indexes that outputs and the hub may have. */
export const indexNames: readonly string[] = readers.flatMap(({ index, isInFolder }) =>
  index === undefined || isInFolder === true ? [] : [index.name],
);

export const readerOfIndex = (name: string): ContainerReader | undefined =>
  readers.find(({ index }) => index?.name === name);

export const isModelFile = (name: string): boolean =>
  isWeightsName(name) || indexNames.some((index) => name === index || name.endsWith(`/${index}`));

/** Removes the extension of a weight file or index; returns other names unchanged. */
export const withoutExtension = (name: string): string => {
  const weights = name.endsWith(indexEnd) ? name.slice(0, -indexEnd.length) : name;
  return isModelFile(name) ? weights.slice(0, -readerOf(weights).extension.length) : name;
};

const indexEnd = '.index.json';

export interface WeightsFound {
  readonly reader: ContainerReader;
  /** Empty if only the index lists the files. */
  readonly files: readonly string[];
  readonly index: WeightsIndex | undefined;
}

/** Finds a model's weights among its file names; undefined if no reader can read any. */
export const findWeights = (names: readonly string[]): WeightsFound | undefined => {
  for (const reader of readers) {
    const files = reader.weightsIn(names);
    const index = reader.index !== undefined && names.includes(reader.index.name) ? reader.index : undefined;
    if (files.length > 0 || index !== undefined) return { reader, files, index };
  }
  return undefined;
};

/**
 * True if loaders read the index. transformers ignores an index that does not name the unsharded file beside
 * it; diffusers always reads it.
 */
export const isIndexRead = ({ reader, files }: WeightsFound, named: readonly string[]): boolean =>
  reader.indexGoesFirst === true || files.length === 0 || files.some((file) => named.includes(file));

/** Returns why files are not a checkpoint, with a remedy. */
export const whyNoWeights = (names: readonly string[], remedy?: string): string => {
  const known = names.includes(adapterWeightsName)
    ? `it is an adapter without its ${adapterConfigName}; download or copy that too`
    : remedy;
  const endings = [...new Set(readers.map(({ extension }) => extension))];
  const otherwise = `give the directory of a model, with weights in ${endings.slice(0, -1).join(', ')} or ${endings.at(-1)}`;
  return `holds no weights of a model: ${names.length === 0 ? 'it is empty; ' : ''}${known ?? otherwise}`;
};
