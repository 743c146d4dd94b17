import type { RunOptions } from '../../../core/engine/run-plan.js';
import type { Layout } from '../../../core/models/checkpoint/layouts.js';
import type { OutputOptions } from '../../options/output.js';

export interface CommonOptions
  extends OutputOptions,
    Pick<RunOptions, 'resume' | 'force' | 'checksums' | 'attest' | 'link'> {
  readonly out?: string;
  readonly layout?: Layout;
  readonly maxShardSize?: string;
  readonly analysis?: string;
  readonly tokenizer?: string;
  readonly allowNonFinite?: boolean;
  readonly threads?: number;
  readonly download?: boolean;
  readonly dryRun?: boolean;
}
