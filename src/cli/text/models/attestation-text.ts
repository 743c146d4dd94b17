import { join } from 'node:path';
import type { Attestation } from '../../../api/attest.js';
import { counted } from '../../../core/base/format.js';
import { signerText } from './signer-text.js';

export const describeAttestation = ({ out, statement, signature, bom }: Attestation): string =>
  [
    ...(statement === null
      ? []
      : [
          `${join(out, statement.file)}: ${counted(statement.files, 'file')} of weights, ${statement.identified} of ${counted(statement.inputs, 'input file')} by SHA-256`,
          `tensors, in any layout: ${statement.tensors}`,
        ]),
    ...(signature === null
      ? []
      : [
          `${join(out, signature.file)}: ${counted(signature.files, 'file')} signed by ${signerText(signature)}`,
        ]),
    ...(bom === null ? [] : [`${bom}: bill of materials, CycloneDX 1.7`]),
  ].join('\n');
