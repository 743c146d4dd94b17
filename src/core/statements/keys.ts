import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { invalidParameter } from '../base/errors/invalid-parameter.js';
import { readFailed } from '../base/files/writing.js';
import { readSmallFile } from '../models/checkpoint/files/small-file.js';

/** Hash for each curve, as in OpenSSF's model-signing 1.1. Ed25519 hashes by itself. */
const hashOf: Readonly<Record<string, string | null>> = {
  prime256v1: 'sha256',
  secp384r1: 'sha384',
  secp521r1: 'sha512',
  ed25519: null,
};

const kindOf = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string =>
  (asymmetricKeyType === 'ec' ? asymmetricKeyDetails?.namedCurve : asymmetricKeyType) ?? '';

const expected = (kind: 'private' | 'public') =>
  `a ${kind} key in PEM, without a password, of EC P-256, P-384, P-521 or Ed25519`;

const mostKeyBytes = 64 * 1024;

/**
 * Reads a key file named by the user.
 *
 * @param folder to sign or check. A key in the folder is refused: it would be published, or is by the folder's maker
 * @throws INVALID_PARAMETER, READ_FAILED
 */
export const readKey = async (
  path: string,
  kind: 'private' | 'public',
  folder: string,
): Promise<KeyObject> => {
  const pem = await readSmallFile(path, { most: mostKeyBytes, what: 'a key' }).catch((cause: unknown) => {
    throw readFailed(path, cause);
  });
  if (`${await realpath(path)}${sep}`.startsWith(`${await realpath(folder)}${sep}`))
    throw invalidParameter(
      'key',
      path,
      kind === 'private'
        ? 'a key outside the folder that is signed, with which it would be published'
        : 'a key that you know from elsewhere: whoever made the folder also made the key in it',
    );
  const key = parseKey(pem.toString('latin1'), kind);
  if (key === undefined || !Object.hasOwn(hashOf, kindOf(key)))
    throw invalidParameter('key', path, expected(kind));
  return key;
};

/** Refuses a private key for checking, although it contains the public key. */
const parseKey = (pem: string, kind: 'private' | 'public'): KeyObject | undefined => {
  try {
    if (kind === 'private') return createPrivateKey(pem);
    return /PRIVATE KEY-----/.test(pem) ? undefined : createPublicKey(pem);
  } catch {
    return undefined;
  }
};

/** Returns the SHA-256 of the public key's PEM; bundles name the key by it. */
export const hintOf = (key: KeyObject): string => {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'pem' }))
    .digest('hex');
};

/** Returns the algorithm's name to show, such as `EC P-256`. */
export const algorithmOf = (key: KeyObject): string =>
  ({ prime256v1: 'EC P-256', secp384r1: 'EC P-384', secp521r1: 'EC P-521', ed25519: 'Ed25519' })[
    kindOf(key)
  ] ?? kindOf(key);

export const signBytes = (bytes: Buffer, key: KeyObject): Buffer =>
  sign(hashOf[kindOf(key)] ?? null, bytes, key);

export const isSignedBy = (bytes: Buffer, signature: Buffer, key: KeyObject): boolean =>
  verify(hashOf[kindOf(key)] ?? null, bytes, key, signature);
