import type { ContainerFormat } from './format.js';
import {
  compareForFile,
  encodeHeader,
  maxHeaderBytes,
  parseHeader,
  prefixBytes,
  readHeader,
} from './header.js';
import { encodeShardIndex, indexFileName, parseShardIndex, shardFileName } from './shard-index.js';

/**
 * Safetensors (huggingface/safetensors): a length, a header in JSON, and the data; shards and their index as
 * transformers names them.
 */
export const safetensors: ContainerFormat = {
  name: 'safetensors',
  extension: '.safetensors',
  shardName: shardFileName,
  indexName: indexFileName,
  encodeIndex: encodeShardIndex,
  parseIndex: parseShardIndex,
  compare: compareForFile,
  encodeHeader: (tensors) => encodeHeader(tensors),
  mostHeaderBytes: prefixBytes + maxHeaderBytes,
  readHeader: async (handle, file, bytes) => {
    const { json, hash } = await readHeader(handle, file, bytes);
    return { content: json, hash };
  },
  parseHeader: (content, file, bytes) => {
    const data = prefixBytes + content.length;
    const { metadata, tensors } = parseHeader(content, file, bytes - data);
    const inFile = [...tensors].map(
      ([name, { dtype, shape, begin, end }]) =>
        [name, { dtype, shape, begin: data + begin, end: data + end }] as const,
    );
    return { metadata, tensors: new Map(inFile) };
  },
  // PyTorch loaders insist on it.
  isLoadable: ({ format }) => format === 'pt',
};
