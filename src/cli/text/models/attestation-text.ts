import { join } from 'node:path';
import type { Attestation } from '../../../api/attest.js';
import { signerText } from './signer-text.js';

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
      : [`${join(out, signature.file)}: ${signature.files} files signed by ${signerText(signature)}`]),
    ...(bom === null ? [] : [`${bom}: bill of materials, CycloneDX 1.7`]),
  ].join('\n');
