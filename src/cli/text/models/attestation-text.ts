import { join } from 'node:path';
import type { Attestation } from '../../../api/attest.js';

export const describeAttestation = ({ out, statement, signature, bom }: Attestation): string =>
  [
    ...(statement === null
      ? []
      : [
          `${join(out, statement.file)}: ${statement.files} files of weights, ${statement.identified} of ${statement.inputs} input files by SHA-256`,
          `tensors, in any layout: ${statement.tensors}`,
        ]),
    ...(signature === null
      ? []
      : [
          `${join(out, signature.file)}: ${signature.files} files signed by the ${signature.algorithm} key ${signature.key}`,
        ]),
    ...(bom === null ? [] : [`${bom}: bill of materials, CycloneDX 1.7`]),
  ].join('\n');
