import { type AttestOptions, attest } from '../../../api/attest.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { describeAttestation } from '../../text/models/attestation-text.js';
import { show, watched } from '../running/show.js';

interface AttestCommandOptions
  extends OutputOptions,
    Pick<AttestOptions, 'key' | 'keyless' | 'bom' | 'threads'> {
  readonly out: string;
}

export const attestCommand = async (options: AttestCommandOptions): Promise<void> => {
  const { out, key, keyless, bom, threads } = options;
  const result = await watched(options, (watch) => attest(out, { key, keyless, bom, threads, ...watch }));
  if (!options.quiet) result.warnings.forEach(warn);
  show(result, options, describeAttestation);
};
