import type { ContainerReader } from '../container-reader.js';
import { extensions } from '../extensions.js';
import { parseHeader, parsePrefix, prefixBytes } from './header.js';
import { refuseParts } from './parts.js';
import {
  diffusersFileName,
  diffusersIndexName,
  indexFileName,
  parseShardIndex,
  singleFileName,
} from './shard-index.js';

/** Safetensors with transformers' file names: a length, a JSON header, and the data. */
export const safetensorsReader: ContainerReader = {
  name: 'safetensors',
  extension: extensions.safetensors,
  index: { name: indexFileName, parse: parseShardIndex },
  weightsIn: (names) => names.filter((name) => name === singleFileName),
  headerEnd: (start, file, bytes) =>
    start.length < prefixBytes && bytes >= prefixBytes
      ? prefixBytes
      : prefixBytes + parsePrefix(start, file, bytes),
  parseHeader: (header, file, bytes) => {
    const data = header.length;
    const { metadata, tensors } = parseHeader(header.subarray(prefixBytes), file, bytes - data);
    refuseParts(metadata, file);
    const inFile = [...tensors].map(
      ([name, { dtype, shape, begin, end }]) =>
        [name, { dtype, shape, begin: data + begin, end: data + end }] as const,
    );
    return { metadata, tensors: new Map(inFile) };
  },
};

export const diffusersReader: ContainerReader = {
  ...safetensorsReader,
  index: { name: diffusersIndexName, parse: parseShardIndex },
  indexGoesFirst: true,
  weightsIn: (names) => names.filter((name) => name === diffusersFileName),
};
