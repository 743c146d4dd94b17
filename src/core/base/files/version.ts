import { readFileSync } from 'node:fs';
import { shipped } from './shipped.js';

const manifest: unknown = JSON.parse(readFileSync(shipped('package.json'), 'utf8'));

/** Version in package.json. */
export const version = (manifest as { version: string }).version;
