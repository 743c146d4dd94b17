import type { FileHandle } from 'node:fs/promises';
import { writer } from '../../models/checkpoint/containers/containers.js';
import type { PlannedShard } from '../../plan/plan.js';
import { tensorsInFile } from '../../plan/tensors-in-file.js';

type Shard = Pick<PlannedShard, 'bytes' | 'tensors' | 'verbatim'>;

/** Returns a shard's header; empty for a whole input file, whose header is copied. */
export const headerOf = ({ tensors, verbatim }: Shard): Uint8Array =>
  verbatim === undefined ? writer.encodeHeader(tensorsInFile(tensors)) : new Uint8Array();

export const beginShardFile = async (file: FileHandle, shard: Shard): Promise<void> => {
  await file.truncate(shard.bytes);
  const header = headerOf(shard);
  for (let written = 0; written < header.length; )
    written += (await file.write(header, written, header.length - written, written)).bytesWritten;
};
