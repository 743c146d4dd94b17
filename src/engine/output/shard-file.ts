import type { FileHandle } from 'node:fs/promises';
import { outputFormat } from '../../checkpoint/formats.js';
import type { PlannedShard } from '../../plan/plan.js';

type Shard = Pick<PlannedShard, 'bytes' | 'tensors' | 'verbatim'>;

/** A shard's first bytes, which the plan leaves room for; none where they are copied with the rest. */
const headerOf = ({ tensors, verbatim }: Shard): Uint8Array =>
  verbatim === undefined
    ? outputFormat.encodeHeader(
        tensors.map(({ name, dtype, shape, begin, end }) => ({ name, dtype, shape, bytes: end - begin })),
      )
    : new Uint8Array();

/** Gives a file its shard's full size and writes the header. */
export const beginShardFile = async (file: FileHandle, shard: Shard): Promise<void> => {
  await file.truncate(shard.bytes);
  const header = headerOf(shard);
  for (let written = 0; written < header.length; )
    written += (await file.write(header, written, header.length - written, written)).bytesWritten;
};
