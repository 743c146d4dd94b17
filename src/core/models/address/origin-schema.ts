import * as z from 'zod';
import { staysInside } from './file-name.js';
import type { HubRevision, Origin } from './found-model.js';
import { isRepositoryName, isRevision } from './remote.js';

const hub = z.strictObject({
  id: z.string().refine(isRepositoryName, { error: 'no name of a repository' }),
  revision: z.string().refine(isRevision, { error: 'no revision' }),
  inside: z.string().refine(staysInside, { error: 'no path within a snapshot' }).exactOptional(),
}) satisfies z.ZodType<HubRevision>;

type Shape = Record<keyof Origin, z.ZodType>;

export const originShape = { hub: hub.exactOptional() } satisfies Shape;

/** Schema for records, which ignore unknown keys. */
export const recordedOriginShape = { hub: hub.strip().exactOptional() } satisfies Shape;
