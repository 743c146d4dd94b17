import { visibleLine } from '../../../core/base/errors/visible.js';
import type { SignedBy } from '../../../core/statements/signature.js';

export const signerText = ({ algorithm, key, identity, issuer }: SignedBy, most?: number): string =>
  key === null
    ? visibleLine(`${identity}, for whom ${issuer} vouches`)
    : `the ${algorithm} key ${most === undefined ? key : `${key.slice(0, most)}…`}`;
