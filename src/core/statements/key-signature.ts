import type { KeyObject } from 'node:crypto';
import { optionName } from '../base/errors/option-name.js';
import { algorithmOf, hintOf, isSignedBy, signBytes } from './keys.js';
import { mediaType, type Prover, payloadType, type SignedBy } from './signature.js';

/** Returns the bytes to sign: DSSE's pre-authentication encoding. */
const encoded = (payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${payload.length} `), payload]);

const byKey = (key: KeyObject): SignedBy => ({
  ...{ algorithm: algorithmOf(key), key: hintOf(key), identity: null, issuer: null },
});

export const signByKey = (payload: Buffer, key: KeyObject) => ({
  by: byKey(key),
  bundle: {
    mediaType,
    verificationMaterial: { publicKey: { hint: hintOf(key) }, tlogEntries: [] },
    dsseEnvelope: {
      payload: payload.toString('base64'),
      payloadType,
      signatures: [{ sig: signBytes(encoded(payload), key).toString('base64'), keyid: '' }],
    },
  },
});

export const keyProver = (key: KeyObject): Prover => ({
  by: byKey(key),
  prove: async ({ verificationMaterial: { publicKey, certificate }, dsseEnvelope }) => {
    if (!publicKey)
      return certificate
        ? `is by an identity, and not by a key: give ${optionName('identity')} and ${optionName('issuer')}`
        : 'cannot be checked: it names neither a key nor an identity';
    const { hint } = publicKey;
    if (typeof hint === 'string' && hint !== '' && hint !== hintOf(key)) return 'was made with another key';
    const payload = Buffer.from(dsseEnvelope.payload, 'base64');
    const [{ sig }] = dsseEnvelope.signatures;
    return isSignedBy(encoded(payload), Buffer.from(sig, 'base64'), key)
      ? undefined
      : 'is not valid: it was changed, or made with another key';
  },
});
