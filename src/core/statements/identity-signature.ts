import { createRequire } from 'node:module';
import { LayerloomError } from '../base/errors/errors.js';
import { optionName } from '../base/errors/option-name.js';
import { visibleLine } from '../base/errors/visible.js';
import { type Bundle, type Prover, payloadType, type SignedBy } from './signature.js';

// Signs and checks by identity with the library sigstore. Drops the library's messages and causes, because
// they may contain a token.

interface Verifier {
  verify(bundle: unknown): {
    readonly identity?: {
      readonly subjectAlternativeName?: string;
      readonly extensions?: { readonly issuer?: string };
    };
  };
}

interface Sigstore {
  attest(payload: Buffer, type: string): Promise<unknown>;
  createVerifier(): Promise<Verifier>;
}

const unavailable = (reason: string, remedy: string): LayerloomError =>
  new LayerloomError('SIGSTORE_UNAVAILABLE', { reason, remedy });

/** Loads sigstore, but never from the working directory. */
const sigstore = (): Sigstore => {
  try {
    return createRequire(import.meta.url)('sigstore') as Sigstore;
  } catch {
    throw unavailable(
      'the library sigstore is not installed or cannot be loaded',
      'install it where layerloom is: `npm install sigstore@4` (with -g beside a global layerloom)',
    );
  }
};

const failures: Readonly<Record<string, readonly [string, string]>> = {
  IDENTITY_TOKEN_READ_ERROR: [
    'there is no identity to sign with',
    'run in a job of GitHub Actions with `id-token: write`, or put an OpenID Connect token for the audience sigstore into SIGSTORE_ID_TOKEN',
  ],
  IDENTITY_TOKEN_PARSE_ERROR: [
    'the identity token is not a token of OpenID Connect',
    'put one for the audience sigstore into SIGSTORE_ID_TOKEN',
  ],
  CA_CREATE_SIGNING_CERTIFICATE_ERROR: [
    'Sigstore gave no certificate for the identity token',
    'check that it is fresh and for the audience sigstore, and that fulcio.sigstore.dev can be reached',
  ],
  TLOG_CREATE_ENTRY_ERROR: [
    "Sigstore's transparency log took no entry",
    'check that rekor.sigstore.dev can be reached, and sign again',
  ],
};

const codeIn = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

/**
 * Signs a payload with the identity of this CI job or token, and checks the signature.
 *
 * @throws SIGSTORE_UNAVAILABLE
 */
export const signByIdentity = async (
  payload: Buffer,
): Promise<{ readonly by: SignedBy; readonly bundle: unknown }> => {
  const { attest } = sigstore();
  // Opens the verifier first, so that nothing is published that cannot be checked.
  const verifier = await verifierOf();
  let bundle: unknown;
  try {
    bundle = await attest(payload, payloadType);
  } catch (error) {
    const [reason, remedy] = failures[codeIn(error)] ?? [
      'signing by Sigstore failed',
      'check that its services can be reached, and sign again',
    ];
    throw unavailable(reason, remedy);
  }
  const signer = signerOf(verifier, bundle);
  if (typeof signer === 'string')
    throw unavailable(`Sigstore's own signature ${signer}`, 'nothing was written; sign again');
  return { by: byIdentity(signer.identity, signer.issuer), bundle };
};

const verifierOf = async (): Promise<Verifier> => {
  const { createVerifier } = sigstore();
  try {
    return await createVerifier();
  } catch {
    throw unavailable(
      "Sigstore's trusted keys cannot be fetched",
      'check that tuf-repo-cdn.sigstore.dev can be reached',
    );
  }
};

const signerOf = (
  verifier: Verifier,
  bundle: unknown,
): { readonly identity: string; readonly issuer: string } | string => {
  try {
    const { identity } = verifier.verify(bundle);
    const [name, issuer] = [identity?.subjectAlternativeName, identity?.extensions?.issuer];
    return name && issuer ? { identity: name, issuer } : 'has a certificate without an identity and issuer';
  } catch (error) {
    const code = codeIn(error);
    if (code === 'CERTIFICATE_ERROR')
      return 'has a certificate that Sigstore did not issue, or that was not valid when it signed';
    if (/^(TLOG|TIMESTAMP)_/.test(code)) return 'is not recorded in the transparency log as it stands here';
    return 'is not valid: it was changed, or is not by its certificate';
  }
};

const byIdentity = (identity: string, issuer: string): SignedBy => ({
  ...{ algorithm: 'Sigstore', key: null, identity, issuer },
});

/** Checks that a bundle is by exactly this identity and issuer. */
export const identityProver = (identity: string, issuer: string): Prover => ({
  by: byIdentity(identity, issuer),
  prove: async (bundle: Bundle) => {
    const { publicKey, certificate, tlogEntries } = bundle.verificationMaterial;
    if (publicKey) return `is by a key, and not by an identity: give ${optionName('key')}`;
    if (!certificate) return 'cannot be checked: it names neither a key nor an identity';
    if (!tlogEntries?.length) return 'has no entry of the transparency log';
    const signer = signerOf(await verifierOf(), bundle);
    if (typeof signer === 'string') return signer;
    if (signer.identity !== identity) return visibleLine(`is by another identity, ${signer.identity}`);
    if (signer.issuer !== issuer)
      return visibleLine(`is by that identity of another issuer, ${signer.issuer}`);
    return undefined;
  },
});
