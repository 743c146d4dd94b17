import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { attest, layerSwap, soup } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { tamper, tamperings, verdictOf } from '../fixtures/tampered.js';

describe('a signed folder', () => {
  it('is refused after each of 200 tamperings', { timeout: 120_000 }, async () => {
    const root = temporaryDirectory();
    const [task, language] = [1, 2].map((seed) =>
      writeCheckpoint(join(root, `expert-${seed}`), llama({ seed, layers: 2 })),
    ) as [string, string];
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(join(root, 'private.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(join(root, 'public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
    const [key, signed, other] = ['private.pem', 'signed', 'other'].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    await layerSwap({ task, language, bottom: 1, top: 1 }, { out: signed, attest: true });
    await soup({ models: [task, language] }, { out: other, attest: true });
    for (const folder of [signed, other]) await attest(folder, { key });
    const found = new Map<string, Set<string>>(tamperings.map((kind) => [kind, new Set()]));
    for (let seed = 0; seed < 200; seed += 1) {
      const folder = join(root, `tampered-${seed}`);
      const kind = tamper(signed, other, folder, seed);
      found.get(kind)?.add(await verdictOf(folder, join(root, 'public.pem')));
    }
    expect(Object.fromEntries(found)).toEqual(
      Object.fromEntries(tamperings.map((kind) => [kind, new Set(['damaged'])])),
    );
  });
});
