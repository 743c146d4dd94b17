import type { ContainerWriter } from '../container-writer.js';
import { compareForFile, encodeHeader, maxHeaderBytes, prefixBytes } from './header.js';
import { safetensorsReader } from './reader.js';
import { encodeShardIndex, indexFileName, shardFileName } from './shard-index.js';

export const safetensorsWriter: ContainerWriter = {
  extension: safetensorsReader.extension,
  shardName: shardFileName,
  indexName: indexFileName,
  encodeIndex: encodeShardIndex,
  compare: compareForFile,
  encodeHeader: (tensors) => encodeHeader(tensors),
  mostHeaderBytes: prefixBytes + maxHeaderBytes,
  // PyTorch loaders require this format.
  takes: (reader, { format }) => reader === safetensorsReader && format === 'pt',
};
